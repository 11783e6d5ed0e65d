#include "scree/batch_file.h"

#include <fmt/format.h>

#include "run/batch_table.h"
#include "run/run_blocks.h"
#include "scree/error.h"

namespace scree {

struct BatchFile::Impl {
  explicit Impl(const std::filesystem::path& path)
      : file(path), in(path), header(read_batch_header(in)), shape(read_batch_shape(in, header)) {}
  std::filesystem::path file;
  hdf5::Reader in;
  BatchHeader header;
  BatchShape shape;
};

BatchFile::BatchFile(const std::filesystem::path& file) : impl_(std::make_unique<Impl>(file)) {}
BatchFile::~BatchFile() = default;
BatchFile::BatchFile(BatchFile&&) noexcept = default;
BatchFile& BatchFile::operator=(BatchFile&&) noexcept = default;

size_t BatchFile::trajectories() const { return impl_->header.count; }
size_t BatchFile::first() const { return impl_->header.first; }
const std::vector<double>& BatchFile::time() const { return impl_->header.time; }
const std::vector<std::string>& BatchFile::q_names() const { return impl_->header.q_names; }
const std::vector<std::string>& BatchFile::v_names() const { return impl_->header.v_names; }
const std::vector<std::pair<std::string, std::string>>& BatchFile::settings() const { return impl_->header.settings; }
Model BatchFile::model() const { return read_model(impl_->in, impl_->file); }

BatchTable BatchFile::read(size_t first, size_t count) const {
  const BatchHeader& header = impl_->header;
  if (first < header.first || first - header.first > header.count || count > header.count - (first - header.first))
    throw InputError(fmt::format("{}: trajectories {} to {} asked for, expected within {} to {}", impl_->file.string(),
                                 first, first + count, header.first, header.first + header.count));
  return get_table(impl_->in, impl_->shape, header, first - header.first, count);
}

BatchTable read_batch(const std::filesystem::path& file) {
  const BatchFile batch(file);
  return batch.read(batch.first(), batch.trajectories());
}

}  // namespace scree
