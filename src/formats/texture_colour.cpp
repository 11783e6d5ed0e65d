#include "formats/texture_colour.h"

#include <fmt/format.h>
#include <png.h>

#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

#include <cmath>
#include <csetjmp>
#include <cstring>

#include "base/text.h"
#include "scree/error.h"

namespace scree {
namespace {

constexpr unsigned kMostSide = 16384;              // pixels
constexpr std::uint64_t kMostPixels = 67'108'864;  // of an image
constexpr std::uint64_t kMostAtOnce = 16'777'216;  // of an image that must be in memory as a whole

// Sums of rows of red, green, blue and opacity.
class Mean {
 public:
  Mean() {
    for (size_t k = 0; k < 256; ++k) light_[k] = light_of(static_cast<double>(k) / 255);
  }
  void add(const unsigned char* pixels, size_t count, size_t channels) {
    for (size_t i = 0; i < count; ++i) {
      const unsigned char* p = pixels + i * channels;
      for (size_t k = 0; k < 3; ++k) sum_[k] += light_[p[channels >= 3 ? k : 0]];
      sum_[3] += channels == 4 ? p[3] / 255.0 : 1;
    }
    count_ += count;
  }
  Colour colour() const {
    Colour colour;
    for (size_t k = 0; k < 4; ++k) {
      const double mean = sum_[k] / static_cast<double>(count_);
      colour[k] = static_cast<float>(k < 3 ? coded_of(mean) : mean);
    }
    return colour;
  }

 private:
  double light_[256];
  double sum_[4] = {};
  size_t count_ = 0;
};

// Everything a decoder touches lives in these, outside of the frames that its longjmp skips.
struct PngDecoder {
  std::string_view bytes;
  size_t at = 0;
  char error[200] = "";
  unsigned width = 0, height = 0;
  bool interlaced = false;
  std::vector<png_byte> pixels;
  std::vector<png_bytep> rows;
  Mean mean;
  png_structp png = nullptr;
  png_infop info = nullptr;
  ~PngDecoder() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void on_png_error(png_structp png, png_const_charp message) {
  auto& decoder = *static_cast<PngDecoder*>(png_get_error_ptr(png));
  std::strncpy(decoder.error, message, sizeof decoder.error - 1);
  png_longjmp(png, 1);
}
void on_png_warning(png_structp, png_const_charp) {}

void on_png_read(png_structp png, png_bytep out, size_t count) {
  auto& decoder = *static_cast<PngDecoder*>(png_get_io_ptr(png));
  if (count > decoder.bytes.size() - decoder.at) png_error(png, "the file ends early");
  std::memcpy(out, decoder.bytes.data() + decoder.at, count);
  decoder.at += count;
}

// The three below return false where the library jumped out. No object with a destructor may live in them.
bool read_png_header(PngDecoder& d) {
  if (setjmp(png_jmpbuf(d.png))) return false;
  png_set_read_fn(d.png, &d, on_png_read);
  png_set_user_limits(d.png, kMostSide, kMostSide);
  png_read_info(d.png, d.info);
  d.width = png_get_image_width(d.png, d.info);
  d.height = png_get_image_height(d.png, d.info);
  d.interlaced = png_get_interlace_type(d.png, d.info) != PNG_INTERLACE_NONE;
  png_set_expand(d.png);  // palettes, few bits and transparent colours
  png_set_scale_16(d.png);
  png_set_gray_to_rgb(d.png);
  png_set_add_alpha(d.png, 0xff, PNG_FILLER_AFTER);
  png_set_interlace_handling(d.png);
  png_read_update_info(d.png, d.info);
  return png_get_rowbytes(d.png, d.info) == size_t{4} * d.width;
}

bool read_png_pixels(PngDecoder& d) {
  if (setjmp(png_jmpbuf(d.png))) return false;
  if (d.interlaced) {
    png_read_image(d.png, d.rows.data());
    for (png_bytep row : d.rows) d.mean.add(row, d.width, 4);
  } else {
    for (unsigned k = 0; k < d.height; ++k) {
      png_read_row(d.png, d.pixels.data(), nullptr);
      d.mean.add(d.pixels.data(), d.width, 4);
    }
  }
  return true;
}

struct JpegDecoder {
  jpeg_decompress_struct jpeg = {};
  jpeg_error_mgr errors = {};
  std::jmp_buf jump;
  char error[JMSG_LENGTH_MAX] = "";
  std::vector<unsigned char> row;
  Mean mean;
  bool made = false;
  ~JpegDecoder() {
    if (made) jpeg_destroy_decompress(&jpeg);
  }
};

[[noreturn]] void on_jpeg_error(j_common_ptr jpeg) {
  auto& decoder = *static_cast<JpegDecoder*>(jpeg->client_data);
  jpeg->err->format_message(jpeg, decoder.error);
  std::longjmp(decoder.jump, 1);
}
void on_jpeg_message(j_common_ptr) {}
// Damaged data are no reason to go on: what is decoded after is invented.
void on_jpeg_warning(j_common_ptr jpeg, int level) {
  if (level < 0) on_jpeg_error(jpeg);
}

bool read_jpeg_header(JpegDecoder& d, std::string_view bytes) {
  if (setjmp(d.jump)) return false;
  jpeg_create_decompress(&d.jpeg);
  d.made = true;
  jpeg_mem_src(&d.jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  d.jpeg.mem->max_memory_to_use = 256L << 20;
  jpeg_read_header(&d.jpeg, TRUE);
  return true;
}

bool read_jpeg_pixels(JpegDecoder& d) {
  if (setjmp(d.jump)) return false;
  while (d.jpeg.output_scanline < d.jpeg.output_height) {
    unsigned char* row = d.row.data();
    jpeg_read_scanlines(&d.jpeg, &row, 1);
    d.mean.add(row, d.jpeg.output_width, 3);
  }
  return true;
}

bool start_jpeg(JpegDecoder& d) {
  if (setjmp(d.jump)) return false;
  d.jpeg.out_color_space = JCS_RGB;
  d.jpeg.scale_num = 1;
  d.jpeg.scale_denom = 8;  // of each block its mean: all that is asked for, and fast
  jpeg_start_decompress(&d.jpeg);
  return true;
}

[[noreturn]] void fail_image(const std::string& name, const std::string& what) {
  throw InputError(one_line(fmt::format("{}: {}", name, what)));
}

void check_size(const std::string& name, std::uint64_t width, std::uint64_t height, std::uint64_t most) {
  if (width > kMostSide || height > kMostSide || width * height > most)
    fail_image(name,
               fmt::format("is {} x {} pixels, expected at most {} and {} a side", width, height, most, kMostSide));
}

Colour mean_of_png(std::string_view bytes, const std::string& name) {
  PngDecoder d;
  d.bytes = bytes;
  d.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &d, on_png_error, on_png_warning);
  d.info = d.png ? png_create_info_struct(d.png) : nullptr;
  if (!d.info) fail_image(name, "cannot be decoded, out of memory");
  if (!read_png_header(d)) fail_image(name, fmt::format("is not a readable PNG ({})", d.error));
  check_size(name, d.width, d.height, d.interlaced ? kMostAtOnce : kMostPixels);
  d.pixels.resize(size_t{4} * d.width * (d.interlaced ? d.height : 1));
  if (d.interlaced)
    for (unsigned k = 0; k < d.height; ++k) d.rows.push_back(d.pixels.data() + size_t{4} * d.width * k);
  if (!read_png_pixels(d)) fail_image(name, fmt::format("is not a readable PNG ({})", d.error));
  return d.mean.colour();
}

Colour mean_of_jpeg(std::string_view bytes, const std::string& name) {
  JpegDecoder d;
  d.jpeg.err = jpeg_std_error(&d.errors);
  d.errors.error_exit = on_jpeg_error;
  d.errors.output_message = on_jpeg_message;
  d.errors.emit_message = on_jpeg_warning;
  d.jpeg.client_data = &d;
  if (!read_jpeg_header(d, bytes)) fail_image(name, fmt::format("is not a readable JPEG ({})", d.error));
  // A progressive one is held as a whole while it is decoded, and each of its scans goes over all of it.
  check_size(name, d.jpeg.image_width, d.jpeg.image_height,
             jpeg_has_multiple_scans(&d.jpeg) ? kMostAtOnce : kMostPixels);
  if (d.jpeg.num_components != 1 && d.jpeg.num_components != 3)
    fail_image(name, fmt::format("has {} components, expected grey or colour", d.jpeg.num_components));
  if (!start_jpeg(d)) fail_image(name, fmt::format("is not a readable JPEG ({})", d.error));
  d.row.resize(size_t{3} * d.jpeg.output_width);
  if (!read_jpeg_pixels(d)) fail_image(name, fmt::format("is not a readable JPEG ({})", d.error));
  return d.mean.colour();
}

}  // namespace

double light_of(double coded) {  // IEC 61966-2-1
  return coded <= 0.04045 ? coded / 12.92 : std::pow((coded + 0.055) / 1.055, 2.4);
}
double coded_of(double light) { return light <= 0.0031308 ? 12.92 * light : 1.055 * std::pow(light, 1 / 2.4) - 0.055; }

Colour mean_colour(std::string_view bytes, const std::string& name) {
  if (bytes.starts_with("\x89PNG")) return mean_of_png(bytes, name);
  if (bytes.starts_with("\xff\xd8\xff")) return mean_of_jpeg(bytes, name);
  fail_image(name, "is neither PNG nor JPEG");
}

}  // namespace scree
