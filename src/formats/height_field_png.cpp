#include "formats/height_field_png.h"

#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "scree/error.h"

namespace scree {
namespace {

// Everything the decoder touches lives here, outside of the frames that libpng's longjmp skips.
struct Decoder {
  std::string_view bytes;
  size_t at = 0;
  unsigned most = 0;
  char error[200] = "";
  unsigned width = 0, height = 0;
  int depth = 0, colour = 0, channels = 0;
  bool keyed = false;  // one grey value stands for "transparent"
  unsigned key = 0;    // that value
  size_t row_bytes = 0;
  std::vector<png_byte> pixels;
  std::vector<png_bytep> rows;
  png_structp png = nullptr;
  png_infop info = nullptr;
  ~Decoder() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  Decoder& decoder = *static_cast<Decoder*>(png_get_error_ptr(png));
  std::strncpy(decoder.error, message, sizeof decoder.error - 1);
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep out, size_t count) {
  Decoder& decoder = *static_cast<Decoder*>(png_get_io_ptr(png));
  if (count > decoder.bytes.size() - decoder.at) png_error(png, "the file ends early");
  std::memcpy(out, decoder.bytes.data() + decoder.at, count);
  decoder.at += count;
}

// Both return false where libpng jumped out. No object with a destructor may live in them.
bool read_header(Decoder& d) {
  if (setjmp(png_jmpbuf(d.png))) return false;
  png_set_read_fn(d.png, &d, on_read);
  png_set_user_limits(d.png, d.most, d.most);
  png_read_info(d.png, d.info);
  d.width = png_get_image_width(d.png, d.info);
  d.height = png_get_image_height(d.png, d.info);
  d.depth = png_get_bit_depth(d.png, d.info);
  d.colour = png_get_color_type(d.png, d.info);
  d.channels = png_get_channels(d.png, d.info);
  png_color_16p key = nullptr;
  d.keyed = png_get_tRNS(d.png, d.info, nullptr, nullptr, &key) != 0 && key != nullptr;
  if (d.keyed) d.key = key->gray;
  png_set_interlace_handling(d.png);
  png_read_update_info(d.png, d.info);
  d.row_bytes = png_get_rowbytes(d.png, d.info);
  return true;
}

bool read_pixels(Decoder& d) {
  if (setjmp(png_jmpbuf(d.png))) return false;
  png_read_image(d.png, d.rows.data());
  png_read_end(d.png, nullptr);
  return true;
}

}  // namespace

Eigen::MatrixXd parse_grey_png(std::string_view bytes, const std::string& name, unsigned most) {
  const auto fail = [&](const std::string& what) { throw InputError(one_line(fmt::format("{}: {}", name, what))); };
  Decoder d;
  d.bytes = bytes;
  d.most = most;
  d.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &d, on_error, on_warning);
  d.info = d.png ? png_create_info_struct(d.png) : nullptr;
  if (!d.info) fail("cannot be decoded, out of memory");
  if (!read_header(d)) fail(fmt::format("is not a readable PNG of at most {} x {} pixels ({})", most, most, d.error));
  if (d.colour != PNG_COLOR_TYPE_GRAY && d.colour != PNG_COLOR_TYPE_GRAY_ALPHA)
    fail("is in colour, expected a greyscale PNG");
  if (d.depth != 8 && d.depth != 16) fail(fmt::format("has {} bits per pixel, expected 8 or 16", d.depth));
  d.pixels.resize(d.row_bytes * d.height);
  for (unsigned row = 0; row < d.height; ++row) d.rows.push_back(d.pixels.data() + row * d.row_bytes);
  if (!read_pixels(d)) fail(fmt::format("is not a readable PNG ({})", d.error));

  const unsigned sample = static_cast<unsigned>(d.depth) / 8, white = d.depth == 8 ? 255u : 65535u;
  const unsigned pixel = sample * static_cast<unsigned>(d.channels);
  const auto read_sample = [&](const png_byte* at) -> unsigned { return sample == 1 ? at[0] : at[0] * 256u + at[1]; };
  Eigen::MatrixXd values(d.width, d.height);
  for (unsigned row = 0; row < d.height; ++row) {
    for (unsigned column = 0; column < d.width; ++column) {
      const png_byte* at = d.rows[row] + column * pixel;
      const unsigned grey = read_sample(at);
      if ((d.channels == 2 && read_sample(at + sample) != white) || (d.keyed && grey == d.key))
        fail(
            fmt::format("pixel ({}, {}) is transparent, expected a height (columns and rows from 0, from the top left)",
                        column, row));
      values(column, d.height - 1 - row) = static_cast<double>(grey) / white;
    }
  }
  return values;
}

}  // namespace scree
