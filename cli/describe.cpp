// What the commands on encodings and on models' files take.
#include "cli/describe.h"

#include "gnomon/core/text.h"

namespace gnomon::cli {
namespace {

constexpr const char* kModel =
    "a model's folder, its config.json, a .gguf or a .safetensors file, or the name of a model in the cache "
    "of "
    "huggingface_hub: org/name, org/name@revision, org/name/file.gguf";

CLI::Option* describe_download(CLI::App& app, Download& o, const char* what) {
  return app.add_flag("--download", o.allowed,
                      text("fetch ", what, " of a named model from huggingface.co, or from HF_ENDPOINT"));
}

void describe_filters(CLI::App& app, EncodingsOptions& o) {
  app.add_option("--search", o.search,
                 "list encodings with these words in the name, other names, title, paper, formula or options")
      ->type_name("TEXT");
  app.add_option("--acts", o.acts,
                 "list encodings that act on this: input, qk, logits, cross, value, rows, mask, positions")
      ->type_name("SITE")
      ->allow_extra_args(false);
  const auto flag = [&](const char* names, std::optional<bool>& asked, const char* help) {
    app.add_flag_callback(
        names, [&asked] { asked = true; }, help);
  };
  flag("--relative", o.filter.relative,
       "list encodings that a common shift of all positions does not change");
  flag("--extrapolates", o.filter.extrapolates,
       "list encodings whose authors show that they work beyond the trained length");
  flag("--learned", o.filter.learned, "list encodings that have parameters");
  flag("--causal-only", o.filter.causal_only, "list encodings that are not defined for keys after the query");
}

}  // namespace

void describe_encodings(CLI::App& app, EncodingsOptions& o) {
  app.add_option("NAME", o.name, "encoding, combination or spec to describe; without one, list all")
      ->type_name("ENCODING");
  describe_filters(app, o);
  app.add_flag("--json", o.json,
               "print JSON: a list of objects with name, title, paper, year, acts, options");
  app.add_flag("--markdown", o.markdown, "print the reference page, docs/encodings.md");
  app.footer(
      "Examples:\n"
      "  gnomon encodings\n"
      "  gnomon encodings rope\n"
      "  gnomon encodings --search rotary --extrapolates\n"
      "  gnomon encodings --acts logits --learned --json\n"
      "  gnomon encodings --markdown > docs/encodings.md");
}

void describe_show(CLI::App& app, ShowOptions& o) {
  app.add_option("SPEC", o.spec,
                 "encodings, such as sinusoidal, 'rope(theta=500)', 'alibi(slopes=geometric)'")
      ->required()
      ->type_name("SPEC");
  app.add_option("--dim", o.dim, "channels of the model; by default 16 per head");
  app.add_option("--heads", o.heads, "attention heads; by default 4, or fewer that divide --dim");
  app.add_option("--head-dim", o.head_dim, "channels per head, instead of --dim");
  app.add_option("--length", o.length, "number of tokens")->capture_default_str();
  app.add_option("--first", o.first, "with --out: the first position and distance of pictures")
      ->capture_default_str();
  app.add_flag("--bidirectional", o.bidirectional, "without a causal mask");
  app.add_option("--out", o.out, "write a page with pictures to this file")->type_name("FILE");
  app.add_flag("--plan", o.plan,
               "print what attention executes in each layer, as data, instead of the numbers");
  app.add_flag("--json", o.json, "print the numbers as JSON");
  app.footer(
      "Examples:\n"
      "  gnomon show sinusoidal --dim 16\n"
      "  gnomon show 'sinusoidal(layout=halves)' --dim 512 --out page.html\n"
      "  gnomon show alibi --heads 12\n"
      "  gnomon show yarn --head-dim 64 --first 1000000 --out far.html\n"
      "  gnomon show rope+alibi --plan");
}

void describe_check(CLI::App& app, CheckCommand& o) {
  app.add_option("DUMP.safetensors", o.dump,
                 "numbers of an engine, any of: q_before and q_after, k_before and k_after, cos and sin, "
                 "inv_freq, bias, slopes, table, mask, weights, positions, documents")
      ->required()
      ->type_name("FILE");
  app.add_option("--spec", o.spec, "the expected convention, such as 'rope(theta=500000)'; by default any")
      ->type_name("SPEC");
  app.add_option(
      "--positions", o.positions,
      "positions of the tokens, such as 0..99 or 0,1,7; by default those in the dump, or 0, 1, 2 ...");
  app.add_option("--theta", o.theta, "one more base to try, besides the usual and the fitted ones");
  app.add_flag("--json", o.json, "print the answers as JSON, with everything that was ruled out");
  app.footer(
      "Examples:\n"
      "  gnomon check dump.safetensors\n"
      "  gnomon check dump.safetensors --spec 'rope(theta=10000)'\n"
      "  gnomon check dump.safetensors --positions 0..11 --json\n"
      "Exit code 0: the dump follows a convention (with --spec, the expected one).\n"
      "Exit code 1: it does not, or it has a fault.");
}

void describe_inspect(CLI::App& app, InspectCommand& o) {
  const auto within = [](const InspectOptions::Bounds& b) { return CLI::Range(b.first, b.second); };
  app.add_option(
         "MODEL", o.model,
         "a folder with config.json, safetensors and tokenizer.json, a .gguf file, or the name of a model in "
         "the cache of huggingface_hub, such as org/name")
      ->required()
      ->type_name("FILE");
  app.add_option("--text", o.text, "the text for the model to read, UTF-8")->type_name("FILE");
  app.add_option("--ids", o.ids,
                 "the same as token ids, for other tokenisers: whole numbers with spaces between them")
      ->type_name("FILE");
  app.add_option(
         "--component", o.component,
         "the part of an encoder-decoder model, such as T5, to look at; the decoder is shown text whose "
         "beginning the encoder has read")
      ->capture_default_str()
      ->type_name("COMPONENT");
  app.add_option("--window", o.options.window, "tokens per window")
      ->capture_default_str()
      ->check(within(InspectOptions::kWindow));
  app.add_option("--windows", o.options.windows, "number of windows")
      ->capture_default_str()
      ->check(within(InspectOptions::kWindows));
  app.add_option("--longest", o.options.longest, "tokens per window for the loss by place in the window")
      ->capture_default_str()
      ->check(within(InspectOptions::kLongest));
  app.add_option("--beyond", o.options.beyond,
                 "also read windows of this many times the trained length, in six ways without training; "
                 "long windows take minutes each");
  app.add_flag("--each-head", o.options.each_head,
               "also remove the position from one head at a time; this runs the model once for each head");
  app.add_option("--out", o.out, "write a page with pictures to this file")->type_name("FILE");
  app.add_flag("--json", o.json, "print every number as JSON");
  CLI::Option* download = describe_download(app, o.download, "the weights");
  app.add_option("--download-limit", o.download.gigabytes, "gigabytes of weights that may be fetched")
      ->capture_default_str()
      ->needs(download)
      ->check(CLI::Range(0.0, 10000.0));
  app.add_flag("--quiet", o.quiet, "no progress on standard error");
  app.footer(text(
      "Examples:\n"
      "  gnomon inspect build/models/minilm --text book.txt\n"
      "  gnomon inspect build/models/minilm --text book.txt --out page.html\n"
      "  gnomon inspect build/models/minilm --ids ids.txt --json\n",
      "`make models` fetches this model. gnomon runs it in float32 and measures the values inside.\n"
      "An encoder with an output head is scored on masked tokens, as BERT was trained: 15 % of each window, "
      "with seed 1.\n"
      "Its mask token comes from tokenizer.json, or from mask_token_id in config.json."));
}

void describe_lint(CLI::App& app, LintOptions& o) {
  CLI::Option* paths =
      app.add_option(
             "PATH", o.paths,
             "a config.json, a .gguf file, another file of a model, a folder, or the name of a model in "
             "the cache of huggingface_hub; in a folder every model is checked; - reads a config.json "
             "from standard input")
          ->type_name("FILE");
  CLI::Option* rules = app.add_flag("--rules", o.rules, "list the rules")->excludes(paths);
  app.add_option("--rule", o.rule, "explain one rule, with a file that breaks it and one that does not")
      ->excludes(paths)
      ->excludes(rules)
      ->type_name("RULE");
  app.add_option("--only", o.only, "check only this rule; may be repeated")
      ->allow_extra_args(false)
      ->type_name("RULE");
  app.add_option("--ignore", o.ignore, "skip this rule; may be repeated")
      ->allow_extra_args(false)
      ->type_name("RULE");
  app.add_option("--transformers", o.transformers,
                 "the version of transformers that will read the files; by default the one that wrote each")
      ->type_name("TEXT");
  app.add_option("--vllm", o.vllm, "the version of vLLM that will read the files")->type_name("TEXT");
  app.add_option("--fail-on", o.fail_on, "the mildest finding with exit code 1: error, warning or note")
      ->capture_default_str()
      ->type_name("LEVEL");
  app.add_option("--exceptions", o.exceptions,
                 "the file of accepted findings; by default .gnomon-lint.json beside the model or above it")
      ->type_name("FILE");
  CLI::Option* json = app.add_flag("--json", o.json, "print findings, or rules, as JSON");
  CLI::Option* sarif =
      app.add_flag("--sarif", o.sarif, "print findings as SARIF 2.1.0, for GitHub code scanning")
          ->excludes(json)
          ->excludes(rules);
  app.add_flag("--write-baseline", o.write_baseline,
               "accept all present findings: write them into the file of exceptions")
      ->excludes(rules)
      ->excludes(json)
      ->excludes(sarif);
  CLI::Option* fix =
      app.add_flag(
             "--fix", o.fix,
             "print a diff that writes every suggestion that is one whole value or the right name of a key")
          ->excludes(rules)
          ->excludes(json)
          ->excludes(sarif);
  app.add_flag("--write", o.write, "with --fix: write it into the files")->needs(fix);
  app.add_flag("--schema", o.schema, "print a JSON schema of the settings of RoPE in a config.json")
      ->excludes(paths)
      ->excludes(rules)
      ->excludes(json)
      ->excludes(sarif);
  describe_download(app, o.download, "the settings and the headers of the weights");
  app.add_flag("--markdown", o.markdown, "print the page of the rules, docs/lint.md")
      ->needs(rules)
      ->excludes(json);
  app.footer(
      "Examples:\n"
      "  gnomon lint config.json\n"
      "  gnomon lint config.json model --fail-on warning\n"
      "  gnomon lint model --ignore theta-by-kind-of-layer --json\n"
      "  gnomon lint config.json --sarif > lint.sarif\n"
      "  gnomon lint - < config.json\n"
      "  gnomon lint . --write-baseline\n"
      "  gnomon lint config.json --fix\n"
      "  gnomon lint --schema > rope.schema.json\n"
      "  gnomon lint --rules\n"
      "  gnomon lint --rule scaling-without-theta\n\n"
      "Exit code 0: no error was found; with --fail-on, nothing of that level or above.\n"
      "Exit code 1: there is such a finding; with --fix, one is left. A file that cannot be read is an "
      "error.\n"
      "Exit code 2: the command line is wrong. Exit code 3: the file of exceptions is malformed.\n"
      "Exit code 4: a path does not exist, or a folder has no model.");
}

void describe_explain(CLI::App& app, ExplainOptions& o) {
  CLI::Option* path = app.add_option("PATH", o.path, kModel)->type_name("FILE");
  CLI::Option* other =
      app.add_option("OTHER", o.other, "a second file: show what the two compute differently")
          ->type_name("FILE");
  app.add_option("--reader", o.reader,
                 "the program that reads the file: v5 or v4 (transformers), vllm or vllm-0.24, sglang, mlx, "
                 "tgi, naive, "
                 "llama.cpp; by default llama.cpp for a .gguf file, v5 for others")
      ->type_name("READER");
  app.add_option("--ignore", o.ignore,
                 "of two files: leave out this quantity, which is expected to differ, such as layers or "
                 "context-length; may be repeated")
      ->needs(other)
      ->allow_extra_args(false)
      ->type_name("QUANTITY");
  CLI::Option* readers =
      app.add_flag("--readers", o.readers, "compare all readers: show where they compute something else")
          ->excludes(other);
  app.add_flag("--full", o.full, "list every frequency and slope");
  describe_download(app, o.download, "the settings");
  CLI::Option* json = app.add_flag("--json", o.json, "print all numbers as JSON");
  CLI::Option* families =
      app.add_flag("--families", o.families, "list the families of models that are known")->excludes(path);
  app.add_flag("--markdown", o.markdown, "print the page of the families, docs/families.md")
      ->needs(families)
      ->excludes(json);
  app.add_option("--out", o.out, "write a page with pictures to this file")
      ->excludes(readers)
      ->excludes(other)
      ->type_name("FILE");
  app.footer(
      "Examples:\n"
      "  gnomon explain docs/examples/llama-3.1.json\n"
      "  gnomon explain docs/examples/llama-3.1.json --readers\n"
      "  gnomon explain docs/examples/llama-3.1.json docs/examples/llama-2.json\n"
      "  gnomon explain target.json draft.json --ignore layers\n"
      "  gnomon explain docs/examples/llama-3.1.json --json\n"
      "  gnomon explain docs/examples/gemma-3.json --out page.html\n"
      "  gnomon explain --families\n\n"
      "Exit code 0: the file is explained; of two files, both use positions in the same way.\n"
      "Exit code 1: two files use positions differently.\n"
      "Exit code 2: the command line is wrong. Exit code 3: a file is malformed.\n"
      "Exit code 4: a file does not exist.");
}

void describe_extend(CLI::App& app, ExtendOptions& o) {
  app.add_option("PATH", o.path, kModel)->required()->type_name("FILE");
  app.add_option("--to", o.to, "tokens to reach: 16384, 16k (k is 1024), or 4x the trained length")
      ->required()
      ->type_name("N");
  CLI::Option* way =
      app.add_option("--way", o.way,
                     "show this way: linear, ntk, dynamic, yarn or longrope; by default the advised one")
          ->type_name("WAY");
  app.add_flag("--all", o.all, "show every way in full")->excludes(way);
  app.add_flag("--full", o.full, "show every pair: wavelength, turns within the trained length, factor");
  app.add_option("--write", o.write, "write the whole config.json with the settings of this way")
      ->type_name("FILE");
  app.add_flag("--replace", o.replace, "let --write replace an existing file");
  app.add_flag("--force", o.force, "extend a file in which lint finds errors");
  describe_download(app, o.download, "the settings");
  app.add_flag("--json", o.json, "print all numbers as JSON");
  app.footer(
      text("Examples:\n"
           "  gnomon extend docs/examples/llama-2.json --to 16k\n"
           "  gnomon extend docs/examples/llama-2.json --to 4x --write longer.json\n"
           "  gnomon extend docs/examples/llama-2.json --to 32768 --way ntk --full\n"
           "  gnomon extend docs/examples/gemma-3.json --to 131072 --json\n",
           "gnomon puts every snippet into the file and reads it again before it shows it.\n"
           "Exit code 3: the file is malformed, or lint finds an error in it."));
}

void describe_bench(CLI::App& app, BenchOptions& o) {
  app.add_option("NAME", o.names,
                 "what to time, such as step.a.fp32, or all of a group, such as attend.t512; by default all")
      ->type_name("BENCH");
  app.add_flag("--quick", o.quick, "three rounds of a few cases of each group, in about a minute");
  app.add_flag("--list", o.list, "list what can be timed");
  app.add_option("--threads", o.threads, "threads of what runs on several; by default all cores")
      ->check(CLI::Range(1, 1024));
  app.add_option("--rounds", o.rounds, "rounds; the median is told, and the range")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--out", o.out, "write a page with a roofline to this file")->type_name("FILE");
  app.add_flag("--quiet", o.quiet, "do not say what is being timed");
  app.add_flag("--json", o.json,
               "print JSON: a list of objects with name, value, unit, limit, share, low, high, n");
  app.footer(
      "Examples:\n"
      "  gnomon bench --quick\n"
      "  gnomon bench step.d64.fp32 --rounds 1\n"
      "  gnomon bench attend.t128 --rounds 1 --json\n"
      "  gnomon bench --list\n\n"
      "Every case is timed in turns with the limit of the machine that it has: multiply-adds in registers, "
      "or a pass over "
      "memory.\n"
      "Let nothing else run meanwhile.");
}

}  // namespace gnomon::cli
