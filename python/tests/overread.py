"""Says that a column has more cells than it has: `make asan` fails unless the sanitizer sees that."""

from support import GEMM_MODEL

from ck_select import Predictor
from ck_select._table import Cells, Columns

columns = Columns(1000, [Cells("tile_m", "q", bytes(8 * 1000))])
columns._rows = 2000
Predictor(GEMM_MODEL)._forest("tflops").predict_rows(columns)
