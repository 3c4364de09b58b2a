"""The problems of the attention sweep: prefill, decoding, shared heads, long contexts, queries and keys of different
lengths."""

import random

random.seed(19)
HEADS = [(8, 8), (16, 16), (32, 32), (32, 8), (64, 8), (32, 4), (14, 2), (12, 12), (40, 40), (16, 1)]
seen = set()


def add(batch, sq, sk, heads, hdim, causal, splits=1):
    elements = batch * max(heads[0] * sq, heads[1] * sk) * hdim
    work = 4 * batch * heads[0] * sq * sk * hdim
    if elements > 1 << 28 or work > 3e12 or splits * batch * heads[0] * sq * hdim > 1 << 28:
        return
    seen.add((batch, sq, sk, *heads, hdim, int(causal), splits))


while len(seen) < 60:  # prefill
    length = random.choice([64, 128, 200, 256, 333, 512, 777, 1024, 1500, 2048, 4096, 8192])
    add(random.choice([1, 1, 2, 4, 8, 16]), length, length, random.choice(HEADS), random.choice([64, 128]),
        random.random() < 0.6)
while len(seen) < 100:  # queries of one thing, keys of another; a prefill behind a cache
    sq, sk = random.choice([16, 33, 77, 100, 256, 512, 1024]), random.choice([77, 128, 500, 1024, 4096, 16384])
    add(random.choice([1, 2, 4, 16]), sq, sk, random.choice(HEADS), random.choice([64, 128]),
        sk >= sq and random.random() < 0.4)
while len(seen) < 150:  # decoding
    add(random.choice([1, 1, 4, 16, 64, 128]), random.choice([1, 1, 1, 4]),
        random.choice([128, 512, 1024, 3000, 8192, 32768, 131072]), random.choice(HEADS),
        random.choice([64, 128]), False)
while len(seen) < 210:  # the same with split keys
    add(random.choice([1, 1, 2, 4, 16]), random.choice([1, 1, 4, 16]),
        random.choice([1024, 4096, 8192, 32768, 131072]), random.choice(HEADS), random.choice([64, 128]),
        False, random.choice([2, 4, 8, 16, 32]))
print("batch,seqlen_q,seqlen_k,nhead_q,nhead_k,hdim,causal,num_splits")
for row in sorted(seen):
    print(",".join(map(str, row)))
