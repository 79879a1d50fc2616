import { HttpConnection } from './http-connection.js';
import { type Measured, runLanes } from './measure.js';

export interface ThroughputOptions {
  port: number;
  token: string;
  connections: number;
  seconds: number;
  /** Asked for in turn. */
  paths: string[];
}

/** Ready bytes over raw connections, so that the measuring process takes little of the CPU. */
export async function measureThroughput(options: ThroughputOptions): Promise<Measured> {
  const { port, token, connections, seconds, paths } = options;
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
  const end = performance.now() + seconds * 1000;
  try {
    return await runLanes(connections, async (lane, recorder) => {
      for (let turn = lane * 7; performance.now() < end; turn += 1) {
        const startedAt = recorder.now();
        const request = requests[turn % requests.length] as Buffer;
        const { status } = await (open[lane] as HttpConnection).send(request);
        recorder.done(startedAt, status === 200);
      }
    });
  } finally {
    for (const connection of open) connection.close();
  }
}
