"""Breaks the code on purpose, one line at a time, and sees that a test notices; and adds dummy encodings (an input, a
bias, a map), each by one file and one line, and sees that everything knows them. `make mutants` runs it: most of an
hour, not part of `make test`. Words after the command choose the mutants whose names have them all, without the dummies.

A mutant is (file, what stands there, what it becomes, tests that have to fail). The text must stand there exactly
once, so a mutant that no longer applies is an error, not a pass.
"""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
WORK = ROOT / "build" / "mutants"
KILLED = "killed by "

MUTANTS = [
    ("sign of the ALiBi slope", "gnomon/encodings/alibi.cpp",
     "return -slope(sides_ ==", "return slope(sides_ ==", "golden_test"),
    ("geometric slopes for every head count", "gnomon/encodings/distance_bias.cpp",
     "P = geometric ? H :", "P = geometric || H > 0 ? H :", "golden_test"),
    ("causal diagonal off by one", "gnomon/kernels/attend_tiles-inl.h",
     "s_.causal ? i + shift_ + 1 : s_.keys", "s_.causal ? i + shift_ : s_.keys", "kernels_test"),
    ("online softmax without its rescale", "gnomon/kernels/attend_softmax-inl.h",
     "total * shrink + sum(sum_now) :", "total + sum(sum_now) :", "kernels_test"),
    ("output not rescaled when the maximum grows", "gnomon/kernels/attend_softmax-inl.h",
     "if (shrink != 1.0f) {", "if (shrink > 1.0f) {", "kernels_test"),
    ("wrong pairing in the rotation", "gnomon/encodings/rotary.cpp",
     'options.word("pairing") == "halves" ? Pairing::halves', 'options.word("pairing") != "halves" ? Pairing::halves', "golden_test"),
    ("the window at the other end of the head", "gnomon/encodings/rotary.cpp",
     "trailing ? shape.D - r : given", "trailing ? given : shape.D - r", "rotary_test"),
    ("far angles in one double", "gnomon/kernels/angle.h",
     "low_ += std::fma(", "low_ += 0 * std::fma(", "rotary_test"),
    ("DeBERTa's epsilon is LayerNorm's", "gnomon/encodings/disentangled.cpp",
     '.standard = "1e-07"', '.standard = "1e-05"', "golden_test"),
    ("DeepSeek's factor of the logits, once", "gnomon/encodings/ramp.cpp",
     "std::pow(by_rule(r.softmax_mscale, factor), 2)", "by_rule(r.softmax_mscale, factor)", "golden_test"),
    ("gradient of the rotation turns forward", "gnomon/kernels/steps.cpp",
     "turn(r, rows, -sign_of(role), dx);", "turn(r, rows, sign_of(role), dx);", "encodings_test"),
    ("a plan's steps run backwards in their order", "gnomon/nn/execute.cpp",
     "for (std::size_t n = e.plan.steps.size(); n-- > 0;) {", "for (std::size_t n = 0; n < e.plan.steps.size(); ++n) {", "encodings_test"),
    ("an encoding gets the gradients of another's steps", "gnomon/spec/plan.cpp",
     "const std::size_t begin = n ? plan.ends[n - 1] : 0;", "const std::size_t begin = 0 * n;", "pairs_test"),
    ("overlapping rotations go together", "gnomon/spec/together.cpp",
     "if (second.count(channel))", "if (second.count(channel + 1000))", "pairs_test"),
    ("queries turn as if they were the first tokens", "gnomon/nn/execute.cpp",
     "asks ? s.place(0) : 0,", "asks ? 0 * s.place(0) : 0,", "encodings_test"),
    ("a decoded token stands where the first one did", "gnomon/nn/attention_decode.cpp",
     "all.push_back(last + 1 + double(t));", "all.push_back(double(t) + 0 * last);", "attention_test"),
    ("cached keys keep the frequencies of a shorter context", "gnomon/encodings/turns.h",
     "return frequencies == other.frequencies && factor == other.factor;", "return factor == other.factor;", "attention_test"),
    ("cached keys turn on to the context of another sequence", "gnomon/nn/attention_decode.cpp",
     "map->turns_at(contexts[b])", "map->turns_at(contexts[0 * b])", "attention_test"),
    ("a cache keeps keys of a map that says nothing of them", "gnomon/encodings/registry.cpp",
     "(!part<MapPart>(*this) || part<TurnPart>(*this))", "true", "attention_test"),
    ("a group reads its neighbour's keys", "gnomon/kernels/attend_shape.h",
     "return kv_heads ? h / (H / kv_heads) : h;", "return kv_heads ? h % kv_heads : h;", "attention_test"),
    ("values of the cache are those of the next token", "gnomon/kernels/key_cache.cpp",
     "for (std::int64_t d = 0; d < shape_.D; ++d) row[d] = value[d],", "for (std::int64_t d = 0; d < shape_.D; ++d) row[d] = key[d],", "key_cache_test"),
    ("T5 buckets mirrored", "gnomon/encodings/distance_bias.cpp",
     "!b.causal && delta < 0 ? B : 0", "!b.causal && delta > 0 ? B : 0", "golden_test"),
    ("tensor2tensor divides by N instead of N - 1", "gnomon/encodings/sines.cpp",
     "std::max(pairs - 1, 1.0)", "std::max(pairs, 1.0)", "golden_test"),
    ("DeBERTa's p2c reads the distance of the paper", "gnomon/encodings/disentangled.h",
     "paper_ ? -delta : delta", "paper_ ? delta : -delta", "golden_test"),
    ("DeBERTa's buckets by floor", "gnomon/encodings/deberta_v2.cpp", "std::ceil(", "std::floor(", "golden_test"),
    ("YaRN's factor of the logits", "gnomon/encodings/ramp.cpp",
     "0.1 * m * std::log(factor) + 1", "0.2 * m * std::log(factor) + 1", "golden_test"),
    ("LongRoPE switches at the original length", "gnomon/encodings/longrope.cpp",
     "reach.length() > original_", "reach.length() >= original_", "golden_test"),
    ("leftover pairs of interleaved M-RoPE", "gnomon/encodings/mrope_interleaved.cpp",
     "return 0;  // whatever is left follows t", "return pair % 3;", "golden_test"),
    ("xPos scales k as q", "gnomon/encodings/xpos.cpp",
     "role == Role::q ? exponent : -exponent", "role == Role::v ? -exponent : exponent", "golden_test"),
    ("CoPE's gate loses a factor in its gradient", "gnomon/kernels/terms/counted.h",
     "float(dsum) * g[b] * (1 - g[b])", "float(dsum) * g[b]", "encodings_test"),
    ("FoX's gradient forgets what it subtracts", "gnomon/encodings/running_gates.h",
     "double(g.by_query[first + l]) - double(g.by_key[first + l])",
     "double(g.by_query[first + l]) + double(g.by_key[first + l])", "encodings_test"),
    ("a convolution reads the document before", "gnomon/encodings/content_rotary.cpp", "t % p.T() > n && p[t - n - 1] < p[t - n]", "t % p.T() > n",
     "positions_test"),
    ("stick-breaking forgets the sign of what is left", "gnomon/kernels/terms/stick.h",
     "hn::NegMulAdd(sigmoid(z), up_to, own)", "hn::MulAdd(sigmoid(z), up_to, own)", "encodings_test"),
    ("the caller's bias gets the gradient of a weight instead of a logit", "gnomon/kernels/attend_softmax-inl.h",
     "if (sticks()) kinds_.of<StickTerm>()->unbreak(r, dp);\n    if (t_.extras.of_pairs) extras_backward(tile, r, dp);",
     "if (t_.extras.of_pairs) extras_backward(tile, r, dp);\n    if (sticks()) kinds_.of<StickTerm>()->unbreak(r, dp);",
     "attend_extras_test"),
    ("far keys' gradients of q are lost", "gnomon/kernels/terms/far.h",
     "to[s_.K + c] = factor * row[c];", "to[s_.K + c] = 0 * row[c];", "pairs_test"),
    ("a window one key too wide", "gnomon/encodings/window.cpp", "< size_", "<= size_", "golden_test"),
    ("documents leak in the backward pass", "gnomon/kernels/attend_softmax-inl.h",
     "if (b < from) looks", "if (b < 0) looks", "positions_test"),
    ("parameters do not start where they should", "gnomon/nn/parameters.cpp",
     "params.back().spec.start = s.start;", "", "model_test"),
    ("re-rotation turns the wrong way", "gnomon/encodings/turns.cpp",
     "to.frequencies[n % pairs] - from.frequencies[n % pairs]",
     "(from.frequencies[n % pairs] - to.frequencies[n % pairs])", "positions_test"),
    ("GELU gradient loses a term", "gnomon/kernels/pointwise.cpp",
     "hn::MulAdd(set(3.0f), cubic, one)", "hn::MulAdd(set(1.0f), cubic, one)", "kernels_test"),
    ("sign of the mean in the LayerNorm gradient", "gnomon/kernels/norm.cpp",
     "hn::Sub(g(c, n), mean_g)", "hn::Add(g(c, n), mean_g)", "kernels_test"),
    ("bias gradient is not added up over the batch", "gnomon/kernels/terms.cpp",
     "for (std::size_t i = 0; i < part.size(); ++i) sum[i] += part[i];",
     "for (std::size_t i = 0; i < part.size(); ++i) sum[i] = part[i];", "kernels_test"),
    ("Adam without bias correction", "gnomon/kernels/adamw.cpp",
     "c1 = 1 - std::pow(s.beta1, double(s.t))", "c1 = 1", "kernels_test"),
    ("principal components about the origin", "gnomon/lens/subspace.cpp",
     "const Matrix x = centred(rows), xt", "const Matrix x = rows, xt", "lens_test"),
    ("queries and keys of a term exchanged", "gnomon/lens/attention.cpp",
     'Both{matrix(values.at("attention.q"), head * T * D, T, D),', 'Both{matrix(values.at("attention.k"), key_head * T * D, T, D),', "lens_test"),
    ("rewritten logits are not attended by", "gnomon/nn/execute.cpp",
     'if (show("logits")) again();', 'if (show("logits") && lse == nullptr) again();', "session_test"),
    ("rewritten weights are divided by their sum", "gnomon/nn/execute.cpp",
     "extras.of_weights = true;", "extras.of_weights = false;", "session_test"),
    ("the tap of what a sublayer adds comes after the sum", "gnomon/nn/layer.cpp",
     "    in.taps.show_rows(\"written\", rows, s.B, s.T, C);\n    add(N * step, in.h, rows.data(), rows.data());",
     "    add(N * step, in.h, rows.data(), rows.data());\n    in.taps.show_rows(\"written\", rows, s.B, s.T, C);", "blocks_test"),
    ("a probe is told on what it was fitted to", "gnomon/lens/probe.cpp",
     "chosen = product(s.told, w);", "chosen = product(s.fit, w).block(0, s.told.rows);", "lens_test"),
    ("the diagonal counts as an offset", "gnomon/lens/table.cpp",
     "return diagonal == Diagonal::with || i != j;", "return true || diagonal == Diagonal::with || i != j;", "lens_test"),
    ("a number outside its range passes", "gnomon/claims/verdict.h",
     "!asked() || (value >= low && value <= high)", "!asked() || value >= low", "claims_test"),
    ("a verdict looks at a mean instead of its interval", "gnomon/claims/verdict.cpp",
     "bound = value_of(c.bound, numbers), low = n.least()", "bound = value_of(c.bound, numbers), low = n.value", "claims_test"),
    ("shards are added up wherever two are there", "gnomon/nn/shards.cpp",
     "left.first % node == 0 &&", "node > 0 &&", "shards_test"),
    ("a shard's loss is the mean over its own targets", "gnomon/nn/train.cpp",
     "tokens.scored = std::max<std::int64_t>(1, batch.B * T - unscored);", "tokens.scored = 0 * unscored;", "shards_test"),
    ("every shard draws the same positions", "gnomon/nn/train.cpp",
     "tokens.draw = batch.draw * std::uint64_t(config.shards) + std::uint64_t(index);", "", "shards_test"),
    ("a rank hears only itself say that it stops", "gnomon/nn/ranks.cpp",
     "over_ = over_ || !votes[r].go;", "over_ = over_ || (!votes[r].go && int(r) == rank());", "together_test"),
    ("ranks go on with moments of their own", "gnomon/nn/train.cpp",
     "for (Floats* numbers : {&w, &m, &v})", "for (Floats* numbers : {&w, &m})", "together_test"),
    ("what was done before a rank was lost is thrown away", "gnomon/study/run/run.cpp",
     "if (e.fault() == Fault::lost)", "if (e.fault() == Fault::busy)", "together_test"),
    ("a checkpoint mixes up Adam's moments", "gnomon/study/run/run.cpp",
     'm = values("optimiser.m.", trainer_.m)', 'm = values("optimiser.v.", trainer_.m)', "lab_test"),
    ("task: an encoder reads the answers", "gnomon/study/data/task.cpp",
     "hidden && !causal ? kHidden", "hidden && causal ? kHidden", "tasks_test"),
    ("task: a decoder says what it has just read", "gnomon/study/data/task.cpp",
     "std::size_t(hidden && causal)", "0 * std::size_t(hidden && causal)", "tasks_test"),
    ("task: tests are a step of a training", "gnomon/study/data/task.cpp",
     'return {draw, "test of a task"};', "return training_stream(draw, 0);", "tasks_test"),
    ("task: the longest windows are never drawn", "gnomon/study/data/task.cpp",
     "least + draws.below(range);", "least + draws.below(range - 1);", "tasks_test"),
    ("task: a sum forgets its carry", "gnomon/study/data/tasks/addition.cpp", "carry = s / 10;", "carry = s / 20;", "tasks_test"),
    ("task: brackets close in the order of their opening", "gnomon/study/data/tasks/dyck.cpp",
     "w.label(closes(open.back()), open.back())", "w.label(closes(open.front()), open.front())", "tasks_test"),
    ("task: one right answer makes a window right", "gnomon/study/data/answers.cpp",
     "w.right &= right[std::size_t(n)] != 0;", "w.right = right[std::size_t(n)] != 0;", "tasks_test"),
    ("task: depth is counted from the end", "gnomon/study/data/answers.cpp",
     "source * bins / t", "(t - 1 - source) * bins / t", "tasks_test"),
    ("statistics: seeds have the degrees of freedom of all values", "gnomon/study/statistics/statistics.cpp",
     "{{std::sqrt(of.seeds), n - 1},", "{{std::sqrt(of.seeds), n * B - 1},", "statistics_test"),
    ("statistics: the rest is counted twice", "gnomon/study/statistics/statistics.cpp",
     "of.seeds + of.blocks - of.rest})", "of.seeds + of.blocks + 0 * of.rest})", "statistics_test"),
    ("statistics: both sides have all degrees of freedom", "gnomon/study/statistics/statistics.cpp",
     "std::fmax(satterthwaite, std::min(n, B) - 1)", "(n - 1) * (B - 1) + 0 * satterthwaite", "statistics_test"),
    ("statistics: the narrowest interval", "gnomon/study/statistics/statistics.cpp",
     "most = std::fmax(most, of(s))", "most = std::fmin(most, of(s))", "statistics_test"),
    ("statistics: a difference within twice the margin is equivalent", "gnomon/study/statistics/statistics.cpp",
     "in_errors(margin - std::abs(d.mean), s.error)", "in_errors(2 * margin - std::abs(d.mean), s.error)", "statistics_test"),
    ("statistics: one side of the power", "gnomon/study/statistics/statistics.cpp",
     "limit = t_quantile(0.025, freedom);", "limit = t_quantile(0.05, freedom);", "statistics_test"),
    ("statistics: Bonferroni for Holm", "gnomon/study/statistics/comparisons.cpp",
     "double(p.size() - rank) * value(i)", "double(p.size() + 0 * rank) * value(i)", "statistics_test"),
    ("statistics: adjusted p values fall again", "gnomon/study/statistics/comparisons.cpp",
     "most = std::max(most, std::min(1.0,", "most = std::max(0.0, std::min(1.0,", "statistics_test"),
    ("statistics: what is not 0 is better even where it does not matter", "gnomon/study/statistics/comparisons.cpp",
     "if (p_equivalent <= 0.05) return", "if (p_equivalent <= 0.05 && p > 0.05) return", "statistics_test"),
    ("statistics: intervals of a family are those of one", "gnomon/study/statistics/comparisons.cpp",
     "1 - 0.05 / double(differences.size())", "1 - 0.05 + 0 * double(differences.size())", "statistics_test"),
    ("statistics: Wilson's width without its last term", "gnomon/study/statistics/shares.cpp",
     "z * z / (4 * double(n) * double(n))", "0 * z", "statistics_test"),
    ("statistics: logits of a rule that is not symmetrical", "gnomon/study/statistics/shares.cpp",
     "(double(n - right) + 0.5)", "(double(n - right) + 1)", "statistics_test"),
    ("statistics: a speed-up by compute, not its logarithm", "gnomon/study/statistics/budgets.cpp",
     "return low * std::pow(high / low, share);", "return low + (high - low) * share;", "statistics_test"),
    ("statistics: a curve that touches crosses", "gnomon/study/statistics/budgets.cpp",
     "if (before * gap < 0) {", "if (before * gap < 0 || since > 0) {", "statistics_test"),
    ("statistics: a law that rises", "gnomon/study/statistics/budgets.cpp",
     "|| at(best).law.scale <= 0)", "|| at(best).law.scale == 0)", "statistics_test"),
    ("of equally frequent pairs the largest is merged", "gnomon/study/data/vocabulary.cpp",
     "count < other.count : pair > other.pair", "count < other.count : pair < other.pair", "data_test"),
    ("a merge forgets the pair that it breaks up", "gnomon/study/data/vocabulary.cpp",
     "        lose({pair.right, after}, p);\n", "", "data_test"),
    ("a piece loses the space before it", "gnomon/study/data/vocabulary.cpp",
     "end == 1 ? run_end(text, 1) : end - 1", "end == 1 ? 1 : end - 1", "data_test"),
    ("merges are applied from the last to the first", "gnomon/files/byte_pairs.cpp",
     "std::vector<Due>, std::greater<>> due(std::greater<>()", "std::vector<Due>, std::less<>> due(std::less<>()", "data_test"),
    ("marks are not put in order", "gnomon/files/unicode.cpp",
     "return mark_class(a) < mark_class(b);", "return mark_class(a) < 0 * mark_class(b);", "tokenizer_test"),
    ("punctuation is that of Unicode 14", "gnomon/files/unicode.cpp",
     "&& !is_in(kLaterPunctuation, c)", "&& !is_in(kLaterPunctuation, 0 * c)", "tokenizer_test"),
    ("blanks are those of PCRE2", "gnomon/files/regex.cpp",
     'kBlanks = "\\\\t-\\\\r\\\\x{85}\\\\p{Z}"', 'kBlanks = "\\\\s"', "tokenizer_test"),
    ("the shortest added token counts", "gnomon/files/added_tokens.cpp",
     "first->content.size() == n + 1) longest", "!longest && first->content.size() == n + 1) longest", "tokenizer_test"),
    ("a word of which some part is no token keeps the rest", "gnomon/files/word_pieces.cpp",
     "to.resize(first);", "to.resize(std::max(first, to.size()));", "tokenizer_test"),
    ("a seal is not looked at", "gnomon/files/json.cpp",
     "if (bytes.substr(end) != seal_of(bytes.substr(0, end)))", "if (bytes.empty() && bytes.substr(end) != seal_of(bytes.substr(0, end)))", "bytes_test"),
    ("a question is in two parts", "gnomon/study/data/lines.cpp",
     "part_of(e.question))].push", "part_of(e.question + e.answer))].push", "data_test"),
    ("an encoder sees the answer", "gnomon/study/data/lines.cpp",
     "s.inputs.push_back(hidden ? 0 :", "s.inputs.push_back(hidden && t > begin ? 0 :", "data_test"),
    ("an id may be as large as the vocabulary", "gnomon/study/data/token_file.cpp",
     "ids[n] >= vocabulary", "ids[n] > vocabulary", "data_test"),
    ("a ring that closes is read to its end alone", "gnomon/kernels/attend_cached.cpp",
     "mark(from, std::min(past, slots)), mark(0, past - slots);", "mark(from, std::min(past, slots));", "attention_test"),
    ("a cache serves other windows", "gnomon/nn/attention_decode.cpp",
     'text("\'", spec, "\' in windows of ", encodings.front()->shape().length, " tokens")', 'text("\'", spec, "\'")', "attention_test"),
    ("an inspection ends its part before it stops", "gnomon/models/inspect/inspect.cpp",
     "if (hooks_.stop) sample.stop = &hooks_.stop;", "", "inspect_test"),
    ("masked tokens are those that stay", "gnomon/lens/masked.cpp",
     "if (fate < Masking::kMask)", "if (fate >= Masking::kMask)", "inspection_test"),
    ("a sentence calls touching intervals apart", "gnomon/claims/sentence.cpp",
     "low = a.least() - (less ? less->most() : 0)", "low = a.least() - (less ? less->value : 0)", "sentence_test"),
    ("marks that turn the reading order are printed", "gnomon/core/unprintable.cpp",
     "(c >= 0x202A && c <= 0x202E)", "(c >= 0x202A && c <= 0x202C)", "door_test"),
    ("a prediction is judged by its mean", "gnomon/study/results/judge.cpp",
     "j.share->high : j.found.mean + j.found.half_width;", "j.share->high : j.found.mean;", "study_test"),
    ("a prediction of nearness has no lower bound", "gnomon/study/results/judge.cpp",
     "above = p.within ? -*p.within :", "above = p.within ? -kInfinity :", "study_test"),
    ("growth is the loss that is grown to", "gnomon/study/results/judge.cpp",
     "growth[b] -= own[b];", "growth[b] -= 0 * own[b];", "study_test"),
    ("exactly is of one run", "gnomon/study/results/judge.cpp", "return std::all_of(at.runs.begin()", "return std::any_of(at.runs.begin()", "study_test"),
    ("right answers are those of the training length", "gnomon/study/results/judge.cpp",
     "if (!length || l.factor == *length) return &l;", "if (!length || l.factor > 0) return &l;", "study_test"),
    ("the token before is the token itself", "gnomon/study/results/judge.cpp",
     "definition.ln_weight(h, last, last - 1);", "definition.ln_weight(h, last, last);", "study_test"),
    ("a part forgets what all share", "gnomon/study/settings/fields.cpp",
     "read_sections(fields, table, toml.where, kPart);\n", "", "study_test"),
    ("a suite takes a folder of another", "gnomon/study/suite.cpp", "if (other && !replace)", "if (other && replace)", "study_test"),
    ("statistics: Welch with all degrees of freedom", "gnomon/study/statistics/statistics.cpp",
     "std::fmax(freedom, double(fewer - 1))", "n + m - 2 + 0 * freedom", "statistics_test"),
    ("lint: an error hides nothing of what it says again", "gnomon/models/lint/lint.cpp",
     "if (!result.rule->traits.general || !said(result, all)) once", "if (!result.rule->traits.general || !said(result, all) || all.size() > 0) once", "lint_test"),
    ("texts: every place is filled with the first value", "gnomon/core/prose.cpp",
     "out += values[k];", "out += values[0];", "core_test"),
    ("texts: a value need not have a place", "gnomon/core/prose.h",
     'if (!there[k]) throw "a value has no place in the text";', "(void)there[k];", "core_test"),
    ("attention: gates of a query that sees nothing are gradients", "gnomon/kernels/terms/forget.h",
     "t_.lse[tile.i0 + a] == kMinusInfinity ? 0 : r.n", "t_.lse[tile.i0 + a] == kMinusInfinity ? r.n : r.n", "attention_test"),
    ("decoding: one key more is read than a window shows", "gnomon/nn/attention_decode.cpp",
     "first.push_back(from);", "first.push_back(from > 0 ? from - 1 : 0);", "attention_test"),
    ("alone: vectors beside the words are of other parameters", "gnomon/nn/alone.cpp",
     "input->input({at, tables, start.data()}, e.data());", "input->input({at, tables, initial_numbers(made->params(), 0).data()}, e.data());", "c_api_test"),
    ("lint: what the resolver remarks is told under any name", "gnomon/models/lint/rules/rule.h",
     "if (remark.rule == rule)", "if (!remark.rule.empty() || remark.rule == rule)", "lint_test"),
    ("lint: a null head is an absent one", "gnomon/models/resolve/rope_v5.cpp",
     "if (refused || multiplied)", "if (refused && multiplied)", "lint_test"),
    ("lint: every Falcon's slopes are exact", "gnomon/models/resolve/distance_family.cpp",
     "& 0xffffU) != 0", "& 0xffffU) > 0xffffU", "lint_test"),
    ("resolver: a width that the heads do not divide", "gnomon/models/resolve/resolve.cpp",
     "sizes.width % sizes.heads)", "sizes.width < sizes.heads)", "resolver_test"),
    ("a late prediction counts as an early one", "gnomon/study/conduct.cpp",
     "if (!before && runs) p.after", "if (before && runs) p.after", "study_test"),
]

# One for each kind of site: the part it has, whether it is relative, and what the class has beside its constructor.
DUMMIES = {
    "dummy_input": ("InputPart", False, """
  double input(const Scene& s, std::int64_t t, std::int64_t c) const override { return s.positions[t] * double(c); }
  void input(const Batch& b, float* e) const override {
    for (std::int64_t n = 0; n < b.tokens() * shape_.C; ++n) e[n] = float(b.positions[n / shape_.C] * double(n % shape_.C));
  }"""),
    "dummy_bias": ("BiasPart", True, """
  double bias(const Scene& s, std::int64_t, std::int64_t i, std::int64_t j) const override {
    return -0.5 * std::abs(s.positions[i] - s.positions[j]);
  }
  void lower(const Batch&, Terms& t) const override {
    add_by_distance(t, shape_.H, [&](std::int64_t, std::int64_t delta) { return -0.5 * double(std::abs(delta)); });
  }"""),
    "dummy_map": ("MapPart", False, """
  bool keeps_keys() const override { return true; }
  void map_row(const Scene& s, Role, std::int64_t, std::int64_t t, std::vector<double>& row) const override {
    for (double& x : row) x /= 1 + std::abs(s.positions[t]);
  }
  void map(const Batch& b, const OwnChannels&, std::vector<Step>& steps) const override {
    Scale scale{shape_.D, {}};
    for (std::int64_t t = 0; t < b.tokens(); ++t) scale.factor.push_back(float(1 / (1 + std::abs(b.positions[t]))));
    steps.push_back({Role::q | Role::k, scale});
  }"""),
}
DUMMY = """// A dummy.
#include <cmath>

#include "gnomon/encodings/encoding.h"

namespace gnomon {
namespace {
class Dummy final : public Encoding, public %(part)s {
 public:
  using Encoding::Encoding;%(members)s
};
}  // namespace
extern const Entry %(name)s_entry;
const Entry %(name)s_entry = entry<Dummy>({.name = "%(name)s", .title = "Dummy", .paper = "https://example.org", .formula = "a dummy", .latex = "x",
                                           .pitfall = "a dummy", .year = 2026, .relative = %(relative)s, .options = {}});

}  // namespace gnomon
"""


def copy_tree():
    shutil.rmtree(WORK / "tree", ignore_errors=True)
    files = subprocess.run(["git", "ls-files", "-c", "-o", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in files.stdout.splitlines():
        if (ROOT / name).is_file():
            (WORK / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, WORK / "tree" / name)


def build(*targets):
    tree = WORK / "tree"
    subprocess.run(["cmake", "--preset", "dev", "-Wno-dev"], cwd=tree, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", "--preset", "dev", "--target", *targets], cwd=tree, check=True, capture_output=True)
    return tree / "build" / "dev"


def fate_of(name, file, before, after, test):
    path = WORK / "tree" / file
    original = path.read_text()
    if original.count(before) != 1:
        raise SystemExit(f"{name}: '{before}' stands {original.count(before)} times in {file}")
    path.write_text(original.replace(before, after))
    try:
        ran = subprocess.run([build(test) / "tests" / test, "--gtest_brief=1", "--gtest_filter=-*/SSE4:*/SCALAR"], capture_output=True, text=True)
    except subprocess.CalledProcessError:
        return "DOES NOT BUILD"
    finally:
        path.write_text(original)
    return KILLED + test if ran.returncode != 0 and "FAILED" in ran.stdout else "SURVIVED"


def dummies_are_known():
    tree = WORK / "tree"
    for name, (part, relative, members) in DUMMIES.items():
        code = DUMMY % {"name": name, "part": part, "relative": str(relative).lower(), "members": members}
        (tree / f"gnomon/encodings/{name}.cpp").write_text(code)
        with open(tree / "gnomon/encodings/list.def", "a") as rows:
            rows.write(f"ENCODING({name})\n")
    folder = build("gnomon_cli", "encodings_test", "model_test", "pairs_test")
    listed = [subprocess.run([folder / "gnomon", "encodings", name], capture_output=True, text=True) for name in DUMMIES]
    tests = [subprocess.run([folder / "tests" / test, "--gtest_brief=1"], capture_output=True, text=True)
             for test in ("encodings_test", "model_test", "pairs_test")]
    return all(one.returncode == 0 and "Dummy" in one.stdout for one in listed) and all(one.returncode == 0 for one in tests)


def main(words):
    chosen = [m for m in MUTANTS if all(word in m[0] for word in words)]
    copy_tree()
    for test in sorted({m[4] for m in chosen}):  # without a mutation they pass
        subprocess.run([build(test) / "tests" / test, "--gtest_brief=1", "--gtest_filter=-*/SSE4:*/SCALAR"], check=True, capture_output=True)
    survivors = 0
    for mutant in chosen:
        fate = fate_of(*mutant)
        survivors += not fate.startswith(KILLED)
        print(f"{fate:24} {mutant[0]}", flush=True)
    if words:
        return 1 if survivors or not chosen else 0
    known = dummies_are_known()
    print("a dummy encoding, one file and one line:", "known to the command line, the laws and the model" if known else "FAILED")
    print(f"{len(MUTANTS) - survivors} of {len(MUTANTS)} mutants killed")
    return 0 if known and not survivors else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
