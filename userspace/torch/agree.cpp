// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Agreement, in three rounds of which each rank writes and reads one key: rank 0 says the group's
 * number and settings; each rank says whether it has begun to join, rank 0 whether all have; each
 * rank says whether it has joined, rank 0 whether all have. Only rank 0 reads what each rank says.
 * The number and the job are random, so that neither two groups nor two jobs meet.
 *
 * Keys stay in the store. Where process groups are destroyed and made anew with the same one, each
 * rank counts there how often it has been here, and the keys of each time are others.
 */
#include "agree.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <sys/stat.h>

#include "limits.hpp"
#include "patient.hpp"

namespace inctorch {
namespace {

using std::chrono::milliseconds;

constexpr uint32_t version = 2;		/* of what is exchanged here */

/* What rank 0 tells the others; its tuning table follows. */
struct Proposal {
	uint32_t version, size;
	Settings set;
	uint64_t job, host;
	uint32_t group, resv;
};

/* What a rank says; its text follows. */
struct Answer {
	uint32_t why;		/* Why */
	uint32_t one_host;	/* it is on the host of rank 0 */
};

using Bytes = std::vector<uint8_t>;

template <typename T> Bytes as_bytes(const T &value, const std::string &text = "")
{
	Bytes bytes(sizeof(value));

	memcpy(bytes.data(), &value, sizeof(value));
	bytes.insert(bytes.end(), text.begin(), text.end());
	return bytes;
}

/* False: too short, of another version of this library. */
template <typename T> bool from_bytes(const Bytes &bytes, T *value, std::string *text = nullptr)
{
	if (bytes.size() < sizeof(*value))
		return false;
	memcpy(value, bytes.data(), sizeof(*value));
	if (text)
		text->assign(bytes.begin() + sizeof(*value), bytes.end());
	return true;
}

uint64_t random_number()
{
	std::random_device device;

	return static_cast<uint64_t>(device()) << 32 | device();
}

/* Equal at ranks of one boot of one kernel in one network namespace; 0: not known. */
uint64_t host_id()
{
	std::ifstream file("/proc/sys/kernel/random/boot_id");
	std::string boot;
	struct stat ns;

	if (!std::getline(file, boot) || stat("/proc/self/ns/net", &ns))
		return 0;
	return std::hash<std::string>()(boot + std::to_string(ns.st_ino)) | 1;
}

class Agreement {
public:
	Agreement(const StorePtr &store, int rank, int size, const Settings &own,
		  const std::string &tune)
		: rank_(rank), size_(size), own_(own), tune_(tune)
	{
		auto all = c10::make_intrusive<c10d::PrefixStore>("inc", store);

		agreed_.generation = all->add("uses/" + std::to_string(rank), 1) - 1;
		store_ = c10::make_intrusive<PatientStore>(
			generation_prefix("inc", agreed_.generation), store, "inc");
	}

	~Agreement()
	{
		if (agreed_.group)
			inc_abort(agreed_.group);
	}

	Agreed run()
	{
		Why why = begin(), own;

		why = round("begun", why);
		if (why == Why::none) {
			own = join();
			why = round("joined", own);
			if (why == Why::none && own != Why::none)
				throw_error("inc: all ranks are said to have joined: " + text_);
		}
		agreed_.why = why;
		if (why != Why::none && agreed_.group) {
			inc_abort(agreed_.group);
			agreed_.group = nullptr;
		}
		return std::exchange(agreed_, Agreed());
	}

private:
	void propose()
	{
		Proposal all{};

		all.version = version;
		all.size = sizeof(all);
		all.set = own_;
		all.job = random_number();
		all.group = static_cast<uint32_t>(random_number());
		all.host = host_id();
		store_->set("all", as_bytes(all, tune_));
	}

	Why say(Why why, const std::string &text)
	{
		text_ = "rank " + std::to_string(rank_) + ": " + text;
		return why;
	}

	Why begin()
	{
		std::string text, tune;
		Proposal all;
		uint64_t host = host_id();

		if (rank_ == 0)
			propose();
		if (!from_bytes(store_->get("all"), &all, &tune) || all.version != version ||
		    all.size != sizeof(all))
			return say(Why::mixed, "another version of libinc-torch than rank 0");
		agreed_.set = all.set;
		agreed_.table = Table::take(tune);
		if (!agreed_.table && !tune.empty())
			return say(Why::mixed, "another form of tuning tables than rank 0's, or "
				   "no memory for one");
		agreed_.set.mode = own_.mode;
		agreed_.set.report = own_.report;
		one_host_ = host && host == all.host && !all.set.one_host;
		if (own_.mode == Mode::off)
			return say(Why::off, "INC_TORCH is \"off\"");
		if (size_ == 1)
			return say(Why::alone, why_text(Why::alone));
		if (size_ > INC_MAX_RANKS)
			return say(Why::ranks, why_text(Why::ranks));
		if (inc_family() >= 0 && !can_pin(&text))
			return say(Why::no_group, text);
		return begin_join(all);
	}

	Why begin_join(const Proposal &all)
	{
		inc_join_opts opts{};

		opts.job = all.job;
		opts.group = all.group;
		opts.rank = static_cast<uint32_t>(rank_);
		opts.size = static_cast<uint32_t>(size_);
		int err = inc_join_start(&agreed_.group, &opts);

		/* a child must not keep a rank that is killed from being noticed */
		if (!err)
			inc_close_on_fork(agreed_.group);
		return result(err);
	}

	Why join()
	{
		milliseconds left(agreed_.set.timeout_ms);
		int ret;

		do {
			auto slice = std::min(left, signal_slice);

			ret = inc_join_poll(agreed_.group, static_cast<int>(slice.count()));
			if (ret == -ETIMEDOUT && check_signals)
				check_signals();
			left -= slice;
		} while (ret == -ETIMEDOUT && left > milliseconds(0));
		return result(ret);
	}

	Why result(int err)
	{
		const char *text;

		if (!err)
			return Why::none;
		text = inc_errmsg(agreed_.group);
		return say(Why::no_group, *text ? text : inc_strerror(err));
	}

	/* What this rank says, and then what all have said, as rank 0 sums it up. */
	Why round(const std::string &name, Why why)
	{
		Answer mine{ static_cast<uint32_t>(why), one_host_ }, all;

		store_->set(name + "/" + std::to_string(rank_), as_bytes(mine, text_));
		if (rank_ == 0)
			store_->set(name, as_bytes(sum_up(name)));
		return from_bytes(store_->get(name), &all) ? static_cast<Why>(all.why) : Why::mixed;
	}

	Answer sum_up(const std::string &name)
	{
		Answer all{ static_cast<uint32_t>(Why::none), 1 }, one;
		std::string text;

		for (int r = 0; r < size_; r++) {
			if (!from_bytes(store_->get(name + "/" + std::to_string(r)), &one, &text))
				one = Answer{ static_cast<uint32_t>(Why::mixed), 0 };
			all.one_host &= one.one_host;
			/* that it is not wanted stands before what else is missing */
			if (!one.why || (all.why && all.why <= one.why))
				continue;
			all.why = one.why;
			agreed_.reason = text;
		}
		if (!all.why && all.one_host) {
			all.why = static_cast<uint32_t>(Why::local);
			agreed_.reason = why_text(Why::local);
		}
		return all;
	}

	StorePtr store_;
	int rank_, size_;
	Settings own_;
	std::string tune_;
	Agreed agreed_;
	std::string text_;
	uint32_t one_host_ = 0;
};

} // namespace

std::string generation_prefix(const std::string &name, int64_t generation)
{
	return generation ? name + "/" + std::to_string(generation) : name;
}

Agreed agree(const StorePtr &store, int rank, int size, const Settings &own,
	     const std::string &tune)
{
	return Agreement(store, rank, size, own, tune).run();
}

} // namespace inctorch
