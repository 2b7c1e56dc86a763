// What the commands on encodings and on models' files take.
#include "cli/program.h"

namespace gnomon::cli {
namespace {

constexpr const char* kModel = "a model's folder, its config.json, a .gguf or a .safetensors file";

void describe_filters(CLI::App& app, EncodingsOptions& o) {
  app.add_option("--search", o.search,
                 "those that say these words: name, other names, title, paper, formula, options")
      ->type_name("TEXT");
  app.add_option("--acts", o.acts,
                 "those that act on this: input, qk, logits, cross, value, rows, mask, positions")
      ->type_name("SITE")
      ->allow_extra_args(false);
  const auto flag = [&](const char* names, std::optional<bool>& asked, const char* help) {
    app.add_flag_callback(
        names, [&asked] { asked = true; }, help);
  };
  flag("--relative", o.filter.relative, "those that a common shift of all positions does not change");
  flag("--extrapolates", o.filter.extrapolates,
       "those whose authors show them working beyond the trained length");
  flag("--learned", o.filter.learned, "those that have parameters");
  flag("--causal-only", o.filter.causal_only, "those with no meaning for keys after the query");
}

}  // namespace

void describe_encodings(CLI::App& app, EncodingsOptions& o) {
  app.add_option("NAME", o.name, "encoding, combination or spec to describe; none lists them")
      ->type_name("ENCODING");
  describe_filters(app, o);
  app.add_flag("--json", o.json, "a list of objects: name, title, paper, year, acts, options");
  app.add_flag("--markdown", o.markdown, "the reference page, docs/encodings.md");
  app.footer(
      "Examples:\n"
      "  gnomon encodings\n"
      "  gnomon encodings rope\n"
      "  gnomon encodings --search rotary --extrapolates\n"
      "  gnomon encodings --acts logits --learned --json\n"
      "  gnomon encodings --markdown > docs/encodings.md");
}

void describe_show(CLI::App& app, ShowOptions& o) {
  app.add_option("SPEC", o.spec, "such as sinusoidal, 'rope(theta=500)', 'alibi(slopes=geometric)'")
      ->required()
      ->type_name("SPEC");
  app.add_option("--dim", o.dim, "channels of the model; without it 16 a head");
  app.add_option("--heads", o.heads, "attention heads; not given: 4, or fewer that divide --dim");
  app.add_option("--head-dim", o.head_dim, "channels of a head, instead of --dim");
  app.add_option("--length", o.length, "tokens to look at")->capture_default_str();
  app.add_flag("--bidirectional", o.bidirectional, "without a causal mask");
  app.add_option("--out", o.out, "write the page to this file")->type_name("FILE");
  app.add_flag("--plan", o.plan, "what attention executes in each layer, as data, instead of the numbers");
  app.add_flag("--json", o.json, "the numbers as JSON");
  app.footer(
      "Examples:\n"
      "  gnomon show sinusoidal --dim 16\n"
      "  gnomon show 'sinusoidal(layout=halves)' --dim 512 --out page.html\n"
      "  gnomon show alibi --heads 12\n"
      "  gnomon show yarn --heads 8 --head-dim 64 --length 4096\n"
      "  gnomon show rope+alibi --plan");
}

void describe_check(CLI::App& app, CheckCommand& o) {
  app.add_option(
         "DUMP.safetensors", o.dump,
         "what an engine computed: q_before and q_after, k_before and k_after, cos and sin, inv_freq, "
         "bias, slopes, table, positions; those that there are")
      ->required()
      ->type_name("FILE");
  app.add_option("--spec", o.spec,
                 "what is expected, such as 'rope(theta=500000)'; not given: any convention")
      ->type_name("SPEC");
  app.add_option("--positions", o.positions,
                 "of the tokens, such as 0..99 or 0,1,7; not given: the dump's, or 0, 1, 2 ...");
  app.add_option("--theta", o.theta, "one more base to try, beside the usual and the fitted ones");
  app.add_flag("--json", o.json, "the answers as JSON, with all that was ruled out");
  app.footer(
      "Examples:\n"
      "  gnomon check dump.safetensors\n"
      "  gnomon check dump.safetensors --spec 'rope(theta=10000)'\n"
      "  gnomon check dump.safetensors --positions 0..11 --json\n"
      "Exit code 0: it follows a convention, or the expected one; 1: it does not, or with a fault.");
}

void describe_inspect(CLI::App& app, InspectCommand& o) {
  const auto within = [](const InspectOptions::Bounds& b) { return CLI::Range(b.first, b.second); };
  app.add_option("MODEL", o.model,
                 "a folder with config.json, safetensors and tokenizer.json, or a .gguf file")
      ->required()
      ->type_name("FILE");
  app.add_option("--text", o.text, "what it reads, UTF-8")->type_name("FILE");
  app.add_option("--ids", o.ids,
                 "the same as token ids, whole numbers with spaces between them, for other tokenisers")
      ->type_name("FILE");
  app.add_option("--window", o.options.window, "tokens of a window")
      ->capture_default_str()
      ->check(within(InspectOptions::kWindow));
  app.add_option("--windows", o.options.windows, "how many of them")
      ->capture_default_str()
      ->check(within(InspectOptions::kWindows));
  app.add_option("--longest", o.options.longest, "tokens of the windows whose loss is told by place")
      ->capture_default_str()
      ->check(within(InspectOptions::kLongest));
  app.add_option("--beyond", o.options.beyond,
                 "also windows so many times the trained length, in six ways without training; minutes each "
                 "for long ones");
  app.add_flag("--each-head", o.options.each_head,
               "also take the position from one head at a time: a run of the model for each head");
  app.add_option("--out", o.out, "write the page to this file")->type_name("FILE");
  app.add_flag("--json", o.json, "every number as JSON");
  app.add_flag("--quiet", o.quiet, "no progress on standard error");
  app.footer(
      "Examples:\n"
      "  gnomon inspect build/models/minilm --text book.txt\n"
      "  gnomon inspect build/models/minilm --text book.txt --out page.html\n"
      "  gnomon inspect build/models/minilm --ids ids.txt --json\n"
      "`make models` fetches that model. It runs in float32, and every value is looked at on its way.\n"
      "An encoder with a head is scored on masked tokens, as BERT was trained: 15 % of each window, with "
      "seed 1.\n"
      "Its mask token is that of tokenizer.json, or mask_token_id in config.json.");
}

void describe_lint(CLI::App& app, LintOptions& o) {
  CLI::Option* path = app.add_option("PATH", o.path,
                                     "config.json, a folder with one, a .safetensors file beside one, or a "
                                     ".gguf file")
                          ->type_name("FILE");
  CLI::Option* rules = app.add_flag("--rules", o.rules, "list the rules")->excludes(path);
  app.add_option("--rule", o.rule, "explain one, with a file that has it and one that does not")
      ->excludes(path)
      ->excludes(rules)
      ->type_name("RULE");
  app.add_option("--only", o.only, "look for this rule alone; may be repeated")
      ->allow_extra_args(false)
      ->type_name("RULE");
  app.add_option("--ignore", o.ignore, "leave this rule out; may be repeated")
      ->allow_extra_args(false)
      ->type_name("RULE");
  CLI::Option* json = app.add_flag("--json", o.json, "findings, or rules, as JSON");
  app.add_flag("--sarif", o.sarif, "findings as SARIF 2.1.0, as GitHub's code scanning takes them")
      ->excludes(json)
      ->excludes(rules);
  app.add_flag("--markdown", o.markdown, "the page of the rules, docs/lint.md")->needs(rules)->excludes(json);
  app.footer(
      "Examples:\n"
      "  gnomon lint config.json\n"
      "  gnomon lint model --ignore theta-by-kind-of-layer --json\n"
      "  gnomon lint config.json --sarif > lint.sarif\n"
      "  gnomon lint --rules\n"
      "  gnomon lint --rule scaling-without-theta\n"
      "Exit code 1: an error was found; warnings and notes leave it 0.");
}

void describe_explain(CLI::App& app, ExplainOptions& o) {
  app.add_option("PATH", o.path, kModel)->required()->type_name("FILE");
  CLI::Option* other =
      app.add_option("OTHER", o.other, "another: what the two compute differently")->type_name("FILE");
  app.add_option("--reader", o.reader,
                 "who reads it: v5 or v4 (transformers), vllm or vllm-0.24, naive, llama.cpp; not given: "
                 "llama.cpp for a "
                 ".gguf file, v5 for others")
      ->type_name("READER");
  CLI::Option* readers =
      app.add_flag("--readers", o.readers, "what every reader makes of it, where they differ")
          ->excludes(other);
  app.add_flag("--full", o.full, "every frequency and slope");
  app.add_flag("--json", o.json, "all numbers as JSON");
  app.add_option("--out", o.out, "write a page with pictures to this file")
      ->excludes(readers)
      ->excludes(other)
      ->type_name("FILE");
  app.footer(
      "Examples:\n"
      "  gnomon explain docs/examples/llama-3.1.json\n"
      "  gnomon explain docs/examples/llama-3.1.json --readers\n"
      "  gnomon explain docs/examples/llama-3.1.json docs/examples/llama-2.json\n"
      "  gnomon explain docs/examples/llama-3.1.json --json\n"
      "  gnomon explain docs/examples/gemma-3.json --out page.html\n"
      "Exit code 3: the file is malformed.");
}

void describe_extend(CLI::App& app, ExtendOptions& o) {
  app.add_option("PATH", o.path, kModel)->required()->type_name("FILE");
  app.add_option("--to", o.to, "tokens that it is to reach: 16384, 16k (of 1024), or 4x the trained length")
      ->required()
      ->type_name("N");
  CLI::Option* way =
      app.add_option("--way", o.way,
                     "show this one: linear, ntk, dynamic, yarn or longrope; not given: the advised one")
          ->type_name("WAY");
  app.add_flag("--all", o.all, "show every way in full")->excludes(way);
  app.add_flag("--full", o.full, "every pair: wavelength, turns within the trained length, factor");
  app.add_option("--write", o.write, "write the whole config.json with the settings of this way")
      ->type_name("FILE");
  app.add_flag("--replace", o.replace, "let --write replace a file that is there");
  app.add_flag("--json", o.json, "all numbers as JSON");
  app.footer(
      "Examples:\n"
      "  gnomon extend docs/examples/llama-2.json --to 16k\n"
      "  gnomon extend docs/examples/llama-2.json --to 4x --write longer.json\n"
      "  gnomon extend docs/examples/llama-2.json --to 32768 --way ntk --full\n"
      "  gnomon extend docs/examples/gemma-3.json --to 131072 --json\n"
      "Every snippet is put into the file and read again before it is shown.");
}

}  // namespace gnomon::cli
