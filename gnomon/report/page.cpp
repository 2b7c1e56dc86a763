#include "gnomon/report/page.h"

#include <algorithm>
#include <string_view>

#include "gnomon/core/error.h"
#include "gnomon/core/text.h"
#include "gnomon/files/sha256.h"
#include "gnomon/report/chart.h"
#include "gnomon/report/picture.h"

namespace gnomon::report {
namespace {

// Files of this folder: "style", "script".
struct Part {
  std::string_view name, content;
};
constexpr Part kParts[] = {
#include "page.inc"
};
std::string_view part(std::string_view name) {
  return std::find_if(std::begin(kParts), std::end(kParts), [&](const Part& p) { return p.name == name; })
      ->content;
}

// As a content security policy names what may stand in the page, and nothing else (W3C, CSP level 3, section 2.3.1).
std::string allowed(std::string_view content) {
  const std::string hex = sha256(content);
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) bytes += char(std::stoi(hex.substr(i, 2), nullptr, 16));
  return text("'sha256-", base64(bytes), "'");
}

}  // namespace

std::string draw(const Table& table) {
  std::string out = "<div class=\"scroll\"><table class=\"data\"><thead><tr>";
  for (std::size_t c = 0; c < table.head.size(); ++c) {
    const bool numeric = !table.rows.empty() && table.rows.front().at(c).numeric;
    out +=
        table.head[c].empty()  // no heading: an empty one is announced
            ? "<td></td>"
            : text("<th scope=\"col\"", numeric ? " class=\"n\"" : "", ">", escape(table.head[c]), "</th>");
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) {
      const char* tag = c == 0 ? "th scope=\"row\"" : "td";
      out +=
          text("<", tag, row[c].numeric ? text(" class=\"n\" data-sort=\"", shortest(row[c].sort), "\"") : "",
               ">", escape(row[c].text), c == 0 ? "</th>" : "</td>");
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string paragraph(const std::string& content) { return "<p>" + escape(content) + "</p>\n"; }
std::string folded(const Fold& f) {
  return text("<details class=\"", f.kind, "\"", f.id.empty() ? "" : text(" id=\"", f.id, "\""), "><summary>",
              f.title, "</summary>\n", f.html, "</details>\n");
}
std::string folded(const std::string& title, const std::string& html) {
  return folded({.title = escape(title), .html = html});
}
std::string link(const std::string& to, const std::string& content) {
  return text("<a href=\"", escape(to), "\">", escape(content), "</a>");
}
std::string preformatted(const std::string& content) { return "<pre>" + escape(content) + "</pre>\n"; }

void Page::lead(const std::string& content) { lead_ += "<p class=\"lead\">" + escape(content) + "</p>\n"; }

void Page::section(const Section& s) {
  const std::string id = s.id.empty() ? text("s", ++sections_) : (++sections_, s.id),
                    mark = s.mark.empty() ? "" : " " + s.mark;
  contents_ += text("<li><a href=\"#", id, "\">", escape(s.title), "</a>", mark, "</li>");
  body_ += text("<section", s.kind.empty() ? "" : text(" class=\"", s.kind, "\""), "><h2 id=\"", id, "\">",
                escape(s.title), mark, "</h2>\n", s.html, "</section>\n");
}

std::string Page::html() const {
  std::string data;
  for (const char c : data_)
    data += c == '<' ? std::string("\\u003c") : std::string{c};  // "</script>" cannot end it
  return text(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n",
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src ",
      allowed(part("style")), "; script-src ", allowed(part("script")), "; img-src data:\">\n",
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" "
      "href=\"data:,\">\n<title>",
      escape(title_), "</title>\n<style>", part("style"), "</style></head>\n<body><main><h1>", escape(title_),
      "</h1>\n", lead_,
      sections_ > 2 ? "<nav id=\"contents\" aria-label=\"contents\"><ol>" + contents_ + "</ol></nav>\n" : "",
      body_, "</main>\n",
      data_.empty() ? "" : "<script type=\"application/json\" id=\"data\">" + data + "</script>\n",
      "<script>", part("script"), "</script></body></html>\n");
}

}  // namespace gnomon::report
