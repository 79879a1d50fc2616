import { HttpConnection } from '../load/http-connection.js';
import { type Measured, runLanes } from '../load/measure.js';
import { usageOf } from '../load/process-usage.js';

export interface ThroughputOptions {
  port: number;
  /** Of the server. */
  pid: number;
  token: string;
  connections: number;
  seconds: number;
  /** Asked for in turn. */
  paths: string[];
}

export interface Throughput extends Measured {
  /** Of the server; on a busy machine it is more reliable than the rate. */
  cpuMsPerRequest: number;
}

const WARM_MS = 500;

/** Ready bytes over raw connections, so that the measuring process takes little of the CPU. */
export async function measureThroughput(options: ThroughputOptions): Promise<Throughput> {
  const { port, pid, token, connections, seconds, paths } = options;
  const requests = paths.map((path) => {
    const head = [
      `GET /api/v1${path} HTTP/1.1`,
      'Host: localhost',
      `Authorization: Bearer ${token}`,
    ];
    return Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1');
  });
  const open = await Promise.all(
    Array.from({ length: connections }, () => HttpConnection.open(port)),
  );
  const run = (ms: number) => {
    const end = performance.now() + ms;
    return runLanes(connections, async (lane, recorder) => {
      for (let turn = lane * 7; performance.now() < end; turn += 1) {
        const startedAt = recorder.now();
        const request = requests[turn % requests.length] as Buffer;
        const { status } = await (open[lane] as HttpConnection).send(request);
        recorder.done(startedAt, status === 200);
      }
    });
  };
  try {
    await run(WARM_MS);
    const before = usageOf(pid)?.cpuSeconds ?? 0;
    const measured = await run(seconds * 1000);
    const used = (usageOf(pid)?.cpuSeconds ?? 0) - before;
    return { ...measured, cpuMsPerRequest: (used * 1000) / measured.operations };
  } finally {
    for (const connection of open) connection.close();
  }
}
