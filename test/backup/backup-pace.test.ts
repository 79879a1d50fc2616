import { paced } from '../../src/backup/backup-stream.js';

const WORK_MS = 5;
const CHUNKS = 5;

/** Each chunk costs time on a core. */
async function* busyChunks(): AsyncGenerator<Buffer> {
  for (let number = 0; number < CHUNKS; number += 1) {
    const end = performance.now() + WORK_MS;
    while (performance.now() < end);
    yield Buffer.from([number]);
  }
}

describe('a backup of a serving process', () => {
  it('works a sixth of its time, and leaves no byte out', async () => {
    const startedAt = performance.now();
    const found: Buffer[] = [];
    for await (const chunk of paced(busyChunks())) found.push(chunk);
    const elapsed = performance.now() - startedAt;
    expect(Buffer.concat(found)).toEqual(Buffer.from([0, 1, 2, 3, 4]));
    expect(elapsed).toBeGreaterThanOrEqual(6 * CHUNKS * WORK_MS - 10);
  });
});
