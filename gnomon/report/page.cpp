#include "gnomon/report/page.h"

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/report/chart.h"

namespace gnomon::report {
namespace {

constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--ink:#1c2024;--soft:#5b646d;--line:#d9dee3;--paper:#fff;--tint:#f4f6f8;--link:#0b5cad}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#a2abb3;--line:#3a4148;--paper:#15181b;--tint:#1f2428;--link:#7db8f0}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:960px;margin:0 auto;padding:24px 20px 64px}
h1{font-size:1.7rem;line-height:1.2;margin:.4em 0}h2{font-size:1.25rem;margin:2.2em 0 .6em;padding-top:.6em;border-top:1px solid var(--line)}
p,h1,h3,li{overflow-wrap:anywhere}p.lead{color:var(--soft)}p.note{color:var(--soft);font-size:.875rem;margin:.4em 0 0}
nav ol{columns:2;padding-left:1.4em;font-size:.93rem}a{color:var(--link)}
figure{margin:1.4em 0;break-inside:avoid}figcaption{font-weight:600;margin-bottom:.3em}
svg{max-width:100%;height:auto;display:block;font:12px system-ui,"DejaVu Sans",sans-serif}svg text{fill:var(--ink)}svg .label{fill:var(--soft)}
svg .grid{stroke:var(--line)}svg .axis{stroke:var(--soft)}.pixels{image-rendering:pixelated}
ul.legend{list-style:none;display:flex;flex-wrap:wrap;gap:2px 18px;margin:.2em 0 .5em;padding:0;font-size:.875rem}
ul.legend li{display:flex;align-items:center;gap:7px}svg.sample{width:30px;height:12px;flex:none}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:5px 7px;border-bottom:1px solid var(--line);text-align:left;white-space:nowrap}th{background:var(--tint);vertical-align:bottom;white-space:normal;min-width:4em}
td.n,th.n{text-align:right}th[role=button]{cursor:pointer}
.verdicts td:not(.n):not(:first-child){white-space:normal}.verdicts td:nth-child(3){min-width:14em}
button{font:inherit;font-size:.8rem;margin-top:6px;padding:2px 10px}
pre{background:var(--tint);padding:12px;overflow-x:auto;font-size:.82rem;white-space:pre-wrap;overflow-wrap:anywhere}
.maps{display:flex;flex-wrap:wrap;gap:12px 16px}.maps div{flex:0 0 auto}.maps p{margin:0 0 2px;font-size:.8rem}.maps img{width:170px;height:170px;display:block;border:1px solid var(--line)}
.verdict{display:inline-block;font-size:.8rem;font-weight:600;border-radius:4px;padding:1px 8px;border:1px solid currentColor;white-space:nowrap}
.holds{color:#0a7d55}.conditional{color:#946200}.wrong{color:#c0392b}.undecided,.no_inference,.unmeasurable{color:var(--soft)}.differs{color:#fff;background:#c0392b}
@media(prefers-color-scheme:dark){.holds{color:#4cc79a}.conditional{color:#e0ab4a}.wrong{color:#ff8a7a}}
details{margin:.6em 0}summary{cursor:pointer;color:var(--link)}dl{margin:.4em 0}dt{font-weight:600;font-size:.875rem;margin-top:.5em}dd{margin:0;overflow-wrap:anywhere}
h3.claim{margin:2em 0 .3em}.turn input{vertical-align:middle;width:min(320px,60vw)}
@media(max-width:560px){nav ol{columns:1}main{padding:12px 12px 40px}figure{overflow-x:auto}figure>svg{min-width:640px}}
@media print{button,nav{display:none}main{max-width:none}}
)";

// Sorting and copying only: the page is whole without it.
constexpr const char* kScript = R"(
for(const t of document.querySelectorAll('table.data')){
const b=t.tBodies[0];
[...t.tHead.rows[0].cells].forEach((h,i)=>{h.setAttribute('role','button');h.tabIndex=0;let up=true;
const s=()=>{const v=r=>r.cells[i].dataset.sort!==undefined?+r.cells[i].dataset.sort:r.cells[i].textContent;
[...b.rows].sort((p,q)=>{const x=v(p),y=v(q);return(x<y?-1:x>y?1:0)*(up?1:-1)}).forEach(r=>b.append(r));up=!up};
h.addEventListener('click',s);h.addEventListener('keydown',e=>{if(e.key==='Enter'||e.key===' '){e.preventDefault();s()}})});
const c=document.createElement('button');c.textContent='copy as CSV';
c.addEventListener('click',()=>{const q=x=>/[",\n]/.test(x)?'"'+x.replaceAll('"','""')+'"':x;
const v=[...t.rows].map(r=>[...r.cells].map(d=>q(d.textContent)).join(',')).join('\n');
const a=document.createElement('textarea');a.value=v;document.body.append(a);a.select();document.execCommand('copy');a.remove();c.textContent='copied'});
t.parentNode.after(c)}
)";

}  // namespace

std::string draw(const Table& table) {
  std::string out = "<div class=\"scroll\"><table class=\"data\"><thead><tr>";
  for (std::size_t c = 0; c < table.head.size(); ++c) {
    const bool numeric = !table.rows.empty() && table.rows.front().at(c).numeric;
    out += text("<th scope=\"col\"", numeric ? " class=\"n\"" : "", ">", escape(table.head[c]), "</th>");
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (const auto& cell : row) {
      out += cell.numeric ? text("<td class=\"n\" data-sort=\"", shortest(cell.sort), "\">",
                                 escape(cell.text), "</td>")
                          : text("<td>", escape(cell.text), "</td>");
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string paragraph(const std::string& content) { return "<p>" + escape(content) + "</p>\n"; }
std::string preformatted(const std::string& content) { return "<pre>" + escape(content) + "</pre>\n"; }

void Page::lead(const std::string& content) { lead_ += "<p class=\"lead\">" + escape(content) + "</p>\n"; }

void Page::section(const std::string& title, const std::string& html) {
  ++sections_;
  contents_ += text("<li><a href=\"#s", sections_, "\">", escape(title), "</a></li>");
  body_ += text("<section><h2 id=\"s", sections_, "\">", escape(title), "</h2>\n", html, "</section>\n");
}

std::string Page::html() const {
  std::string data;
  for (const char c : data_)
    data += c == '<' ? std::string("\\u003c") : std::string{c};  // "</script>" cannot end it
  return text("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n",
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
              "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n",
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" "
              "href=\"data:,\">\n<title>",
              escape(title_), "</title>\n<style>", kStyle, "</style></head>\n<body><main><h1>",
              escape(title_), "</h1>\n", lead_,
              sections_ > 2 ? "<nav aria-label=\"contents\"><ol>" + contents_ + "</ol></nav>\n" : "", body_,
              "</main>\n",
              data_.empty() ? "" : "<script type=\"application/json\" id=\"data\">" + data + "</script>\n",
              "<script>", kScript, "</script></body></html>\n");
}

}  // namespace gnomon::report
