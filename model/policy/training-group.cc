/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "training-group.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <cstring>
#include <thread>

#ifdef ALLREDUCE_C10D

#define USE_C10D_GLOO // without it the header is empty

#include <chrono>
#include <csignal>
#include <future>
#include <netdb.h>
#include <regex>
#include <sys/socket.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/torch.h>
#include <unistd.h>

#endif

namespace ns3::allreduce
{

#ifdef ALLREDUCE_C10D

namespace
{

using Clock = std::chrono::steady_clock;
using StorePointer = c10::intrusive_ptr<c10d::Store>;

constexpr const char* LOOPBACK = "127.0.0.1";
constexpr auto POLL_PERIOD = std::chrono::milliseconds(20);
constexpr auto GRACE = std::chrono::seconds(2); //!< for messages that know more than it took long

/// @return "rank 1 of 4"
std::string
NameRank(const TrainingProcess& process)
{
    return "rank " + std::to_string(process.rank) + " of " + std::to_string(process.size);
}

/// @return what c10d says, in a line: the system's reason if there is one, else all but the place
/// in the source
std::string
Summarize(const std::exception& error)
{
    const auto* torchError = dynamic_cast<const c10::Error*>(&error);
    std::string text = torchError ? torchError->what_without_backtrace() : error.what();
    text = text.substr(0, text.find('\n'));
    std::smatch match;
    if (std::regex_search(text, match, std::regex("errno: \\d+ - ([^)]*)")))
    {
        return match[1];
    }
    return std::regex_replace(text, std::regex("^\\[[^ ]*\\] "), "");
}

/// Do something with c10d. @throws TrainingGroupError in place of what c10d throws
template <typename Call>
auto
Translate(const TrainingProcess& process, const Call& call)
{
    try
    {
        return call();
    }
    catch (const InputError&)
    {
        throw;
    }
    catch (const std::exception& error)
    {
        throw TrainingGroupError(NameRank(process) +
                                 ": the others cannot be reached: " + Summarize(error));
    }
}

/// @return the address by which others reach this machine: the one on the route to rank 0
std::string
FindOwnAddress(const TrainingProcess& process)
{
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    const std::string port = std::to_string(process.port);
    const int error = getaddrinfo(process.address.c_str(), port.c_str(), &hints, &found);
    if (error != 0)
    {
        FailInput("MASTER_ADDR ", Quote(process.address), ": ", gai_strerror(error));
    }
    std::string address;
    for (const addrinfo* candidate = found; candidate && address.empty();
         candidate = candidate->ai_next)
    {
        // Nothing is sent: connecting a datagram socket only looks up the route.
        const int handle =
            socket(candidate->ai_family, candidate->ai_socktype, candidate->ai_protocol);
        sockaddr_storage own{};
        socklen_t length = sizeof(own);
        char text[NI_MAXHOST];
        if (handle >= 0 && connect(handle, candidate->ai_addr, candidate->ai_addrlen) == 0 &&
            getsockname(handle, reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
            getnameinfo(reinterpret_cast<sockaddr*>(&own),
                        length,
                        text,
                        sizeof(text),
                        nullptr,
                        0,
                        NI_NUMERICHOST) == 0)
        {
            address = text;
        }
        close(handle);
    }
    freeaddrinfo(found);
    if (address.empty())
    {
        FailInput("MASTER_ADDR ", Quote(process.address), ": no way there");
    }
    return address;
}

StorePointer
OpenStore(const TrainingProcess& process)
{
    if (!process.file.empty())
    {
        return c10::make_intrusive<c10d::FileStore>(process.file, process.size);
    }
    c10d::TCPStoreOptions options;
    options.port = process.port;
    options.waitWorkers = false;
    options.timeout = std::chrono::seconds(process.timeout);
    if (process.rank > 0)
    {
        return c10::make_intrusive<c10d::TCPStore>(process.address, options);
    }
    options.isServer = true;
    try
    {
        return c10::make_intrusive<c10d::TCPStore>(process.address, options);
    }
    catch (const std::exception& error)
    {
        FailInput("MASTER_PORT ", process.port, ": rank 0 cannot listen there: ", Summarize(error));
    }
}

/// @return the ranks that are not there yet
std::string
ListMissing(c10d::Store& store, uint32_t size)
{
    std::string missing;
    for (uint32_t rank = 0; rank < size; ++rank)
    {
        if (!store.check({"here-" + std::to_string(rank)}))
        {
            missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
        }
    }
    return missing;
}

/// Say that this process is here.
void
SignIn(c10d::Store& store, const TrainingProcess& process)
{
    const std::string size = std::to_string(process.size);
    const std::vector<uint8_t> own(size.begin(), size.end());
    const std::vector<uint8_t> first = store.compareSet("size", {}, own);
    if (first != own)
    {
        FailInput("WORLD_SIZE ",
                  size,
                  ": another process says ",
                  Quote({first.begin(), first.end()}));
    }
    if (store.add("here-" + std::to_string(process.rank), 1) > 1)
    {
        FailInput("RANK ", process.rank, ": another process has it");
    }
}

/// Wait until all have signed in.
void
AwaitAll(c10d::Store& store, const TrainingProcess& process, Clock::time_point deadline)
{
    for (std::string missing = "?"; !missing.empty(); std::this_thread::sleep_for(POLL_PERIOD))
    {
        missing = ListMissing(store, process.size);
        if (!missing.empty() && Clock::now() > deadline)
        {
            throw std::runtime_error("after " + std::to_string(process.timeout) +
                                     " s missing: rank " + missing);
        }
    }
}

/// Do something that c10d may never come back from. Then it is left behind and ends with the
/// process, so that it may use nothing but what it owns.
void
RunUntil(Clock::time_point deadline,
         const std::function<void()>& task,
         const std::function<void()>& whileWaiting)
{
    const auto promise = std::make_shared<std::promise<void>>();
    std::future<void> done = promise->get_future();
    std::thread([promise, task] {
        try
        {
            task();
            promise->set_value();
        }
        catch (...)
        {
            promise->set_exception(std::current_exception());
        }
    }).detach();
    while (done.wait_for(POLL_PERIOD) != std::future_status::ready)
    {
        whileWaiting();
        if (Clock::now() > deadline)
        {
            throw TrainingGroupError("MASTER_PORT: what listens there does not answer");
        }
    }
    done.get();
}

} // namespace

/// The connections.
struct TrainingGroup::Impl
{
    /// Find the others.
    void Connect(const TrainingProcess& process, Clock::time_point deadline);

    StorePointer store;                               //!< where processes find each other
    c10::intrusive_ptr<c10d::ProcessGroupGloo> group; //!< what they then use
};

void
TrainingGroup::Impl::Connect(const TrainingProcess& process, Clock::time_point deadline)
{
    const std::string address = process.file.empty() ? FindOwnAddress(process) : LOOPBACK;
    store = OpenStore(process);
    SignIn(*store, process);
    AwaitAll(*store, process, deadline);
    auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(process.timeout));
    options->threads = 1;
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(address));
    group = c10::make_intrusive<c10d::ProcessGroupGloo>(store, process.rank, process.size, options);
}

TrainingGroup::TrainingGroup(const TrainingProcess& process,
                             const std::function<void()>& whileWaiting)
    : m_process(process)
{
    if (process.size == 1)
    {
        return;
    }
    std::signal(SIGPIPE, SIG_IGN); // Who writes to a process that has gone shall get an error.
    FLAGS_caffe2_log_level = 3;    // c10d's warnings; what matters comes as an exception
    const auto deadline = Clock::now() + std::chrono::seconds(process.timeout);
    const auto impl = std::make_shared<Impl>();
    const auto connect = [impl, process, deadline] {
        Translate(process, [&] { impl->Connect(process, deadline); });
    };
    RunUntil(deadline + GRACE, connect, whileWaiting);
    m_impl = impl;
    std::vector<double> nobody(process.size);
    Gather(nobody, process.size); // From here on nobody reads the store.
    if (!process.file.empty())
    {
        m_impl->store.release(); // Its destructor would look for the file, which may be gone.
    }
}

void
TrainingGroup::Gather(std::vector<double>& values, uint32_t nRows) const
{
    if (!m_impl)
    {
        return;
    }
    const int64_t width = values.size() / nRows;
    const int64_t mostOwn = (nRows + m_process.size - 1) / m_process.size;
    const auto kind = torch::TensorOptions().dtype(torch::kFloat64);
    const torch::Tensor all = torch::from_blob(values.data(), {nRows, width}, kind);
    const auto own = all.slice(0, m_process.rank, nRows, m_process.size);
    std::vector<torch::Tensor> inputs{torch::zeros({mostOwn, width}, kind)};
    inputs[0].slice(0, 0, own.size(0)).copy_(own);
    std::vector<std::vector<torch::Tensor>> outputs(1);
    for (uint32_t rank = 0; rank < m_process.size; ++rank)
    {
        outputs[0].push_back(torch::empty({mostOwn, width}, kind));
    }
    Translate(m_process, [&] { m_impl->group->allgather(outputs, inputs)->wait(); });
    for (uint32_t rank = 0; rank < m_process.size; ++rank)
    {
        const torch::Tensor rows = all.slice(0, rank, nRows, m_process.size);
        rows.copy_(outputs[0][rank].slice(0, 0, rows.size(0)));
    }
}

void
TrainingGroup::Broadcast(std::string& text) const
{
    if (!m_impl)
    {
        return;
    }
    const auto broadcast = [&](const torch::Tensor& tensor) {
        std::vector<torch::Tensor> tensors{tensor};
        Translate(m_process, [&] { m_impl->group->broadcast(tensors)->wait(); });
    };
    const torch::Tensor length = torch::tensor({static_cast<int64_t>(text.size())});
    broadcast(length);
    text.resize(length.item<int64_t>());
    broadcast(torch::from_blob(text.data(), {length.item<int64_t>()}, torch::kUInt8));
}

#else

/// There are no connections.
struct TrainingGroup::Impl
{
};

TrainingGroup::TrainingGroup(const TrainingProcess& process, const std::function<void()>&)
    : m_process(process)
{
    if (process.size > 1)
    {
        FailInput("training in ",
                  process.size,
                  " processes: this build has no LibTorch with c10d and Gloo (Debian: apt-get "
                  "install libgloo-dev libtorch-dev)");
    }
}

void
TrainingGroup::Gather(std::vector<double>&, uint32_t) const
{
}

void
TrainingGroup::Broadcast(std::string&) const
{
}

#endif

void
TrainingGroup::Gather(std::vector<std::string>& texts) const
{
    std::vector<double> lengths;
    for (const std::string& text : texts)
    {
        lengths.push_back(text.size());
    }
    Gather(lengths, texts.size());
    const std::size_t longest = *std::max_element(lengths.begin(), lengths.end());
    const std::size_t width = longest / sizeof(double) + 1;
    std::vector<double> rows(texts.size() * width, 0);
    for (std::size_t i = 0; i < texts.size(); ++i)
    {
        std::memcpy(rows.data() + i * width, texts[i].data(), texts[i].size());
    }
    Gather(rows, texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i)
    {
        texts[i].assign(reinterpret_cast<const char*>(rows.data() + i * width), lengths[i]);
    }
}

TrainingGroup::TrainingGroup(uint32_t threads)
{
    m_process.threads = threads;
}

TrainingGroup::~TrainingGroup() = default;

uint32_t
TrainingGroup::GetNThreads() const
{
    const uint32_t nCores = std::max(1U, std::thread::hardware_concurrency());
    return m_process.threads > 0 ? m_process.threads : std::max(1U, nCores / m_process.sizeHere);
}

} // namespace ns3::allreduce
