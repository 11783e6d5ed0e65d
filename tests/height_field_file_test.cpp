#include "scree/height_field_file.h"

#include <gtest/gtest.h>
#include <png.h>

#include <csetjmp>

#include "scree/error.h"
#include "support/random_tree.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

using Vec2 = Eigen::Vector2d;

// Writes samples, row by row from the top, `channels` per pixel; 16 bits as two bytes each, high byte first.
std::string png_bytes(unsigned width, unsigned height, int depth, int colour, const std::vector<png_byte>& samples,
                      bool interlaced = false, const png_color_16* transparent = nullptr) {
  std::string bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  if (setjmp(png_jmpbuf(png))) {
    ADD_FAILURE() << "libpng failed to write";
    return {};
  }
  png_set_write_fn(
      png, &bytes,
      [](png_structp p, png_bytep data, size_t count) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<char*>(data), count);
      },
      nullptr);
  png_set_IHDR(png, info, width, height, depth, colour, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (transparent) png_set_tRNS(png, info, nullptr, 0, transparent);
  png_write_info(png, info);
  const size_t row_bytes = png_get_rowbytes(png, info);
  EXPECT_EQ(samples.size(), row_bytes * height);
  const int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; ++pass)
    for (unsigned row = 0; row < height; ++row) png_write_row(png, samples.data() + row * row_bytes);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

class HeightFieldFile : public testing::Test {
 protected:
  std::string message_of(const std::string& name, const std::string& bytes, const HeightFieldOptions& how) {
    try {
      load_height_field(folder.write(name, bytes), how);
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      EXPECT_LT(message.size(), 1000u);
      EXPECT_TRUE(message.starts_with(folder.path().string())) << message;
      return message;
    }
    return "no error";
  }
  void expect_mistake(const std::string& name, const std::string& bytes, const char* expected) {
    const std::string message = message_of(name, bytes, options);
    EXPECT_NE(message.find(expected), std::string::npos) << message << "\nexpected: " << expected;
  }
  const TempFolder folder;
  const HeightFieldOptions options{.origin = Vec2(3, 4), .spacing = 0.5, .low = -1, .high = 2};
};

TEST_F(HeightFieldFile, PngRoundTrip) {
  test::Random random(101);
  const unsigned width = 7, height = 5;
  for (const int depth : {8, 16})
    for (const bool alpha : {false, true})
      for (const bool interlaced : {false, true}) {
        std::vector<png_byte> samples;
        std::vector<unsigned> grey;
        for (unsigned k = 0; k < width * height; ++k) {
          grey.push_back(k == 0 ? 0u : static_cast<unsigned>(random()) % (1u << depth));
          if (k == 1) grey.back() = (1u << depth) - 1;
          if (depth == 16) samples.push_back(static_cast<png_byte>(grey.back() >> 8));
          samples.push_back(static_cast<png_byte>(grey.back() & 255u));
          for (int b = 0; b < depth / 8 && alpha; ++b) samples.push_back(255);
        }
        const auto file = folder.write(
            "map.PNG", png_bytes(width, height, depth, alpha ? PNG_COLOR_TYPE_GRAY_ALPHA : PNG_COLOR_TYPE_GRAY, samples,
                                 interlaced));
        const HeightField field = load_height_field(file, options);
        ASSERT_EQ(field.heights().rows(), width);
        ASSERT_EQ(field.heights().cols(), height);
        EXPECT_EQ(field.origin(), options.origin);
        EXPECT_EQ(field.spacing(), options.spacing);
        const double white = depth == 8 ? 255 : 65535;
        for (unsigned row = 0; row < height; ++row)
          for (unsigned column = 0; column < width; ++column)
            EXPECT_NEAR(field.heights()(column, height - 1 - row), -1 + 3 * grey[row * width + column] / white, 1e-15);
        EXPECT_EQ(field.heights()(0, height - 1), -1) << "black at the top left";
        EXPECT_EQ(field.heights()(1, height - 1), 2) << "white beside it";
      }
}

TEST_F(HeightFieldFile, PngMistakes) {
  const std::vector<png_byte> grey(5 * 4, 100);
  const std::string good = png_bytes(5, 4, 8, PNG_COLOR_TYPE_GRAY, grey);
  EXPECT_EQ(message_of("a.png", good, options), "no error");
  expect_mistake("a.png", "", "is not a readable PNG");
  expect_mistake("a.png", "not a PNG at all", "is not a readable PNG");
  for (size_t length = 8; length < good.size(); ++length)
    EXPECT_NE(message_of("a.png", good.substr(0, length), options).find("is not a readable PNG"), std::string::npos);
  for (size_t at = 0; at < good.size(); ++at) {  // whatever the damage: an error or an answer, never a crash
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    (void)message_of("a.png", damaged, options);
  }
  expect_mistake("a.png", png_bytes(5, 4, 8, PNG_COLOR_TYPE_RGB, std::vector<png_byte>(60, 1)), "is in colour");
  expect_mistake("a.png", png_bytes(8, 4, 4, PNG_COLOR_TYPE_GRAY, std::vector<png_byte>(16, 1)),
                 "has 4 bits per pixel, expected 8 or 16");
  std::vector<png_byte> alpha(40, 255);
  alpha[2 * (5 * 2 + 3) + 1] = 254;
  expect_mistake("a.png", png_bytes(5, 4, 8, PNG_COLOR_TYPE_GRAY_ALPHA, alpha), "pixel (3, 2) is transparent");
  std::vector<png_byte> keyed = grey;
  keyed[5 * 1 + 4] = 7;
  png_color_16 key{};
  key.gray = 7;
  expect_mistake("a.png", png_bytes(5, 4, 8, PNG_COLOR_TYPE_GRAY, keyed, false, &key), "pixel (4, 1) is transparent");
  expect_mistake("a.png", png_bytes(3, 9, 8, PNG_COLOR_TYPE_GRAY, std::vector<png_byte>(27, 1)),
                 "3 columns and 9 rows, expected at least 4 of each");
  expect_mistake("a.png", png_bytes(4097, 4, 8, PNG_COLOR_TYPE_GRAY, std::vector<png_byte>(4097 * 4, 1)),
                 "of at most 4096 x 4096 pixels");

  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [low, high] : {std::pair(0.0, 0.0), std::pair(2.0, 1.0), std::pair(nan, 1.0), std::pair(0.0, 1e300)})
    EXPECT_NE(message_of("a.png", good, {.origin = Vec2::Zero(), .spacing = 1, .low = low, .high = high})
                  .find("expected finite heights with low < high"),
              std::string::npos);
  EXPECT_NE(message_of("a.png", good, {.origin = Vec2::Zero(), .spacing = nan, .low = 0, .high = 1}).find("spacing"),
            std::string::npos);
}

TEST_F(HeightFieldFile, CsvReadsAsAMap) {
  // Spaces, CRLF, an exponent, a sign, and blank lines at the end.
  const HeightField field = load_height_field(
      folder.write("map.csv", "1, 2,3 ,4,5\r\n6,7,8,9,10\r\n-1e-1,+2,0,0,0\r\n11,12,13,14,15.5\r\n\n"), options);
  ASSERT_EQ(field.heights().rows(), 5);
  ASSERT_EQ(field.heights().cols(), 4);
  EXPECT_EQ(field.heights()(0, 0), 11) << "lower left";
  EXPECT_EQ(field.heights()(4, 0), 15.5) << "lower right";
  EXPECT_EQ(field.heights()(0, 1), -0.1);
  EXPECT_EQ(field.heights()(4, 3), 5) << "upper right";
  EXPECT_NEAR(field.height(3 + 4 * 0.5, 4 + 3 * 0.5).value, 5, 1e-13);
}

TEST_F(HeightFieldFile, CsvMistakes) {
  const std::string row = "1,2,3,4\n", rows = row + row + row;
  EXPECT_EQ(message_of("a.csv", rows + row, options), "no error");
  expect_mistake("a.csv", "", "0 columns and 0 rows, expected at least 4 of each");
  expect_mistake("a.csv", rows, "4 columns and 3 rows, expected at least 4 of each");
  expect_mistake("a.csv", row + "1,2,3\n" + rows, "a.csv:2: 3 cells, expected 4 as in line 1");
  expect_mistake("a.csv", row + "1,2,3,4,\n" + rows, "a.csv:2: 5 cells, expected 4 as in line 1");
  expect_mistake("a.csv", row + "\n" + rows, "a.csv:2: the line is empty, expected 4 heights");
  expect_mistake("a.csv", rows + "1,2, ,4\n", "a.csv:4: cell 3 is empty, expected a height in metres");
  for (const char* bad : {"nan", "inf", "-inf", "1e400", "1e13", "0x10", "1.5m", "--1", "1 2", "\xff\x01"})
    expect_mistake("a.csv", rows + "1,2,3," + bad + "\n", "a.csv:4: cell 4 is \"");
  expect_mistake("a.csv", "1;2;3;4\n", "a.csv:1: cell 1 is \"1;2;3;4\", expected a height");
  expect_mistake("a.csv", std::string(5000, ','), "5001 cells, expected at most 4096");
  std::string tall;
  for (int k = 0; k < 4097; ++k) tall += row;
  expect_mistake("a.csv", tall, "a.csv:4097: one line too many, expected at most 4096");
  expect_mistake("a.tif", rows, "height field format \".tif\" is not supported, expected .png or .csv");
  EXPECT_THROW(load_height_field(folder / "none.csv", options), InputError);
}

}  // namespace
}  // namespace scree
