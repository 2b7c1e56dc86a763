#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gnomon {

// Numbers measured on blocks of one text, with 95 % intervals for other text of its kind: Student's t over the blocks. Half-widths
// are NaN where there is one block.
struct BlockMean {
  double mean, half_width;
};
BlockMean over_blocks(std::span<const double> blocks);  // one number a block, at least one

// The mean of all numbers of blocks that do not hold equally many: Σ sums/Σ counts, with the jackknife over the blocks that hold
// any. Of blocks of one size it is over_blocks() of their means. Throws Error(usage) where no block holds a number.
struct BlockSum {
  double sum = 0, count = 0;
};
BlockMean over_sums(std::span<const BlockSum> blocks);

// For numbers that are no means of blocks: the delete-one jackknife (Tukey 1958, Ann. Math. Stat. 29, 614). Half-widths of what
// `without(b)` computes from all blocks but b, b = 0..blocks−1: always as many numbers.
std::vector<double> jackknife(std::int64_t blocks,
                              const std::function<std::vector<double>(std::int64_t b)>& without);

}  // namespace gnomon
