// Reading which rank this process is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Ranks.h"

#include <cstdlib>
#include <initializer_list>

using namespace weft;
using namespace weft::run;
using namespace weft::bundle;

/// The first of these variables that is set.
static std::string getVariable(std::initializer_list<const char *> names) {
  for (const char *name : names)
    if (const char *value = std::getenv(name))
      return value;
  return {};
}

/// "R/N@HOST:PORT" of what launchers tell their processes: torchrun, and Open MPI, Slurm or MPICH for the numbers. The
/// port behind MASTER_PORT, where torchrun itself listens.
static Error readEnvironment(std::string &text) {
  std::string rank = getVariable({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"});
  std::string ranks = getVariable({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"});
  std::string host = getVariable({"MASTER_ADDR"}), port = getVariable({"MASTER_PORT"});
  if (rank.empty() || ranks.empty() || host.empty() || port.empty())
    return Error(ErrorCode::Usage, "--rank=env: expected RANK, WORLD_SIZE (or those of Open MPI, MPICH or Slurm), "
                                   "MASTER_ADDR and MASTER_PORT in the environment, as torchrun sets them");
  char *end = nullptr;
  long number = std::strtol(port.c_str(), &end, 10);
  if (*end || number < 1 || number >= 65535)
    return Error(ErrorCode::Usage, "--rank=env: expected a port of 1 to 65534 as MASTER_PORT, got " + quote(port));
  text = rank + "/" + ranks + "@" + host + ":" + std::to_string(number + 1);
  return {};
}

Error weft::run::readRank(std::string text, RankOptions &options) {
  if (text == "env")
    if (Error error = readEnvironment(text))
      return error;
  char *end = nullptr;
  options.rank = int32_t(std::strtol(text.c_str(), &end, 10));
  bool isRank = end != text.c_str() && *end == '/';
  const char *ranks = end + 1;
  options.ranks = isRank ? int32_t(std::strtol(ranks, &end, 10)) : 0;
  if (!isRank || end == ranks || *end != '@')
    return Error(ErrorCode::Usage,
                 "--rank: expected R/N@HOST:PORT, as 0/2@127.0.0.1:29501, or env, got " + quote(text));
  options.address = end + 1;
  options.nccl = getVariable({"WEFT_NCCL"});
  return {};
}
