// How threads share pieces of work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

// Calls work(piece) for every piece, on so many threads, each of which takes `grain` pieces at a time; 0 gives each an
// equal share. `make_work` is called once on each thread.
template <typename MakeWork>
void share_out(int64_t pieces, int threads, [[maybe_unused]] int64_t grain, MakeWork make_work) {
    threads = static_cast<int>(std::max<int64_t>(1, std::min<int64_t>(threads, pieces)));
    if (threads == 1) {
        auto work = make_work();
        for (int64_t piece = 0; piece < pieces; ++piece) work(piece);
        return;
    }
#ifdef _OPENMP
    if (grain == 0) grain = (pieces + threads - 1) / threads;
#pragma omp parallel num_threads(threads)
    {
        auto work = make_work();
#pragma omp for schedule(dynamic, grain)
        for (int64_t piece = 0; piece < pieces; ++piece) work(piece);
    }
#else
    std::vector<std::thread> workers;
    for (int thread = 0; thread < threads; ++thread)
        workers.emplace_back([=] {
            auto work = make_work();
            const int64_t end = pieces * (thread + 1) / threads;
            for (int64_t piece = pieces * thread / threads; piece < end; ++piece) work(piece);
        });
    for (auto& worker : workers) worker.join();
#endif
}
