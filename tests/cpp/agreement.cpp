// Models rank the rows of tests/golden/rows as the scores there say: as registered kernels, and as rows with names.
// Arguments: the repository, and the models' names.

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ck_select.hpp"
#include "ck_select_rows.h"

#include "../c/check.h"

namespace {

using Row = std::map<std::string, std::string>;
using Ranking = std::vector<std::pair<std::string, double>>;

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> found;
  std::istringstream rest(line);
  for (std::string cell; std::getline(rest, cell, ',');) found.push_back(cell);
  return found;
}

const char* const PROBLEM[] = {"N",     "C",     "K",          "G",          "Di",        "Hi",       "Wi",
                               "Z",     "Y",     "X",          "stride_d",   "stride_h",  "stride_w", "pad_d",
                               "pad_h", "pad_w", "dilation_d", "dilation_h", "dilation_w"};

std::string problem_of(const Row& row) {
  std::string text = "{\"dtype\": \"bf16\"";
  for (const char* name : PROBLEM) text += std::string(", \"") + name + "\": " + row.at(name);
  return text + "}";
}

ck_select::ConvProblem as_problem(const Row& row) {
  const auto number = [&row](const char* name) { return std::stoll(row.at(name)); };
  CHECK(number("Di") == 1 && number("Z") == 1);
  const std::string& variant = row.at("variant");
  return ck_select::ConvProblem()
      .direction(variant == "forward"    ? ck_select::Direction::forward
                 : variant == "bwd_data" ? ck_select::Direction::bwd_data
                                         : ck_select::Direction::bwd_weight)
      .batch(number("N"))
      .channels(number("C"), number("K"))
      .groups(number("G"))
      .input(number("Hi"), number("Wi"))
      .filter(number("Y"), number("X"))
      .stride(number("stride_h"), number("stride_w"))
      .padding(number("pad_h"), number("pad_w"))
      .dilation(number("dilation_h"), number("dilation_w"))
      .arch(row.at("arch"));
}

ck_column words(const char* name, const std::vector<const char*>& texts, const std::vector<std::int32_t>& codes) {
  ck_column made{};
  made.struct_size = sizeof made;
  made.name = name;
  made.codes = codes.data();
  made.words = texts.data();
  made.word_count = texts.size();
  return made;
}

// By the C functions for rows: the columns of a table of measurements, as texts.
Ranking by_rows(ck_model* model, const std::vector<Row>& rows, const std::vector<const char*>& names) {
  std::vector<std::int32_t> codes(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) codes[row] = static_cast<std::int32_t>(row);
  std::vector<std::vector<const char*>> texts;
  std::vector<ck_column> columns;
  for (const char* name : names) {
    texts.emplace_back();
    for (const Row& row : rows) texts.back().push_back(row.at(name).c_str());
  }
  for (std::size_t at = 0; at < names.size(); ++at) columns.push_back(words(names[at], texts[at], codes));
  ck_pool* pool = nullptr;
  CHECK(ck_pool_create(model, columns.data(), columns.size(), rows.size(), &pool) == CK_STATUS_OK);
  const std::string problem = problem_of(rows[0]);
  std::vector<std::size_t> places(rows.size());
  std::vector<double> scores(rows.size());
  CHECK(ck_pool_rank(pool, reinterpret_cast<const std::uint8_t*>(problem.data()), problem.size(), rows.size(),
                     places.data(), scores.data()) == CK_STATUS_OK);
  ck_pool_destroy(pool);
  Ranking ranking;
  for (std::size_t at = 0; at < rows.size(); ++at) ranking.emplace_back(rows[places[at]].at("kernel_name"), scores[at]);
  return ranking;
}

void agrees(const std::string& repository, const std::string& name, std::int32_t target) {
  std::ifstream file(repository + "/tests/golden/rows/" + name + ".csv");
  std::string line;
  CHECK(std::getline(file, line));
  const std::vector<std::string> header = cells(line);
  std::vector<std::vector<Row>> sweeps;
  while (std::getline(file, line)) {
    const std::vector<std::string> found = cells(line);
    CHECK(found.size() == header.size());
    Row row;
    for (std::size_t at = 0; at < header.size(); ++at) row[header[at]] = found[at];
    if (sweeps.empty() || problem_of(sweeps.back()[0]) != problem_of(row)) sweeps.emplace_back();
    sweeps.back().push_back(row);
  }
  CHECK(sweeps.size() == 4);

  ck_select::Options options;
  options.ignore_environment = true;
  ck_select::Registry registry(options);
  for (const Row& row : sweeps[0]) registry.add(row.at("kernel_name"));
  const std::string directory = repository + "/models/" + name;
  registry.load_model(directory);
  ck_row_options how{};
  how.struct_size = sizeof how;
  how.target = target;
  ck_model* model = nullptr;
  CHECK(ck_model_create(directory.c_str(), &how, &model) == CK_STATUS_OK);
  for (const std::vector<Row>& rows : sweeps) {
    Ranking expected;
    for (const Row& row : rows)
      expected.emplace_back(row.at("kernel_name"), std::strtod(row.at("score").c_str(), nullptr));
    std::stable_sort(expected.begin(), expected.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    Ranking ranked;
    for (const auto& place : registry.rank(as_problem(rows[0])))
      ranked.emplace_back(std::string(place.name), place.score);
    CHECK(ranked == expected);
    CHECK(by_rows(model, rows, {"kernel_name"}) == expected);
    CHECK(by_rows(model, rows,
                  {"variant", "ndim_spatial", "block_size", "gemm_m_per_block", "gemm_n_per_block", "pipeline",
                   "wave_mode", "has_dsb", "has_si", "dtype", "kernel_name"}) == expected);
  }
  ck_model_destroy(model);
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc >= 3);
  for (int at = 2; at < argc; ++at) agrees(argv[1], argv[at], CK_TARGET_RELATIVE);
  return finish("agreement");
}
