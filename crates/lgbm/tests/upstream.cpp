// What an upstream program does: it declares three of LightGBM's functions itself, loads a model, predicts one row of
// doubles a call, and frees the model.
//
//     upstream MODEL ROWS WIDTH THREADS
//
// ROWS is a file of doubles. Each thread predicts all rows with the same model; the threads must agree. Prints the bits
// of each prediction.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

extern "C" {
int LGBM_BoosterCreateFromModelfile(const char* filename, int* out_num_iterations, void** out);
int LGBM_BoosterPredictForMat(void* handle, const void* data, int data_type, int32_t nrow, int32_t ncol,
                              int is_row_major, int predict_type, int start_iteration, int num_iteration,
                              const char* parameter, int64_t* out_len, double* out_result);
int LGBM_BoosterFree(void* handle);
}

namespace {

class Heuristic {
public:
    explicit Heuristic(const std::string& path) {
        int iterations = 0;
        if (LGBM_BoosterCreateFromModelfile(path.c_str(), &iterations, &booster_) != 0) {
            booster_ = nullptr;
        } else if (iterations <= 0) {
            std::fprintf(stderr, "%d iterations\n", iterations);
            std::exit(4);
        }
    }
    ~Heuristic() {
        if (booster_ != nullptr && LGBM_BoosterFree(booster_) != 0) {
            std::abort();
        }
    }
    Heuristic(const Heuristic&) = delete;
    Heuristic& operator=(const Heuristic&) = delete;

    bool is_loaded() const { return booster_ != nullptr; }

    double predict(const double* features, int width) const {
        double result = 0.0;
        std::int64_t length = 0;
        const int status =
            LGBM_BoosterPredictForMat(booster_, features, 1, 1, width, 1, 0, 0, 0, "", &length, &result);
        if (status != 0 || length != 1) {
            std::fprintf(stderr, "status %d, %lld results\n", status, static_cast<long long>(length));
            std::exit(5);
        }
        return result;
    }

private:
    void* booster_ = nullptr;
};

std::vector<double> read(const char* path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::vector<double> values(bytes.size() / sizeof(double));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
    return values;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        return 2;
    }
    const Heuristic heuristic(argv[1]);
    if (!heuristic.is_loaded()) {
        return 3;
    }
    const std::vector<double> rows = read(argv[2]);
    const int width = std::atoi(argv[3]);
    const std::size_t count = rows.size() / static_cast<std::size_t>(width);

    std::vector<std::vector<double>> results(static_cast<std::size_t>(std::atoi(argv[4])));
    std::vector<std::thread> threads;
    for (std::vector<double>& mine : results) {
        threads.emplace_back([&] {
            for (std::size_t row = 0; row < count; ++row) {
                mine.push_back(heuristic.predict(rows.data() + row * static_cast<std::size_t>(width), width));
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const std::vector<double>& mine : results) {
        if (std::memcmp(mine.data(), results[0].data(), count * sizeof(double)) != 0) {
            std::fprintf(stderr, "two threads do not agree\n");
            return 6;
        }
    }
    for (const double result : results[0]) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &result, sizeof bits);
        std::printf("%016llx\n", static_cast<unsigned long long>(bits));
    }
    return 0;
}
