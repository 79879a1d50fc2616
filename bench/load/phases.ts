import { setTimeout as sleep } from 'node:timers/promises';
import { type BenchDevice, commandUuid, signedRequest } from './fleet.js';
import { HttpConnection } from './http-connection.js';
import { type Measured, ofLane, runLanes } from './measure.js';
import { acknowledged, authenticate, idle, tokenUpdate } from './messages.js';

export interface PhaseContext {
  port: number;
  connections: number;
}

/** Signs everything beforehand; `run` then only sends. */
export interface PreparedPhase {
  run(): Promise<Measured>;
}

type Connections = HttpConnection[];

export function prepareEnrollments(context: PhaseContext, devices: BenchDevice[]): PreparedPhase {
  const requests = devices.map((device) => [
    signedRequest(device, authenticate(device.udid)),
    signedRequest(device, tokenUpdate(device.udid)),
  ]);
  return {
    run: () =>
      withConnections(context, (open) =>
        runLanes(open.length, async (lane, recorder) => {
          for (const pair of ofLane(requests, lane, open.length)) {
            const startedAt = recorder.now();
            let isRight = true;
            for (const request of pair) {
              const reply = await (open[lane] as HttpConnection).send(request);
              isRight &&= reply.status === 200;
            }
            recorder.done(startedAt, isRight);
          }
        }),
      ),
  };
}

export function prepareIdle(
  context: PhaseContext,
  devices: BenchDevice[],
  seconds: number,
): PreparedPhase {
  const requests = devices.map((device) => signedRequest(device, idle(device.udid)));
  return {
    run: () =>
      withConnections(context, (open) => {
        const end = performance.now() + seconds * 1000;
        return runLanes(open.length, async (lane, recorder) => {
          const own = ofLane(requests, lane, open.length);
          for (let turn = 0; ; turn += 1) {
            const startedAt = recorder.now();
            if (startedAt >= end) return;
            const request = own[turn % own.length] as Buffer;
            const { status, body } = await (open[lane] as HttpConnection).send(request);
            recorder.done(startedAt, status === 200 && body.length === 0);
          }
        });
      }),
  };
}

/**
 * Polls that come at a fixed rate, however long the answers take: each is timed from when it was due.
 */
export function prepareIdleRate(
  context: PhaseContext,
  devices: BenchDevice[],
  { seconds, rate }: { seconds: number; rate: number },
): PreparedPhase {
  const requests = devices.map((device) => signedRequest(device, idle(device.udid)));
  return {
    run: () =>
      withConnections(context, (open) => {
        const begin = performance.now();
        return runLanes(open.length, async (lane, recorder) => {
          for (let turn = lane; turn < rate * seconds; turn += open.length) {
            const dueAt = begin + (turn / rate) * 1000;
            const early = dueAt - recorder.now();
            if (early > 0) await sleep(early);
            const request = requests[turn % requests.length] as Buffer;
            const { status, body } = await (open[lane] as HttpConnection).send(request);
            recorder.done(dueAt, status === 200 && body.length === 0);
          }
        });
      }),
  };
}

const UUID_KEY = '<key>CommandUUID</key>';
const UUID = /<string>([0-9a-fA-F-]{36})<\/string>/;

interface Obeying {
  idle: Buffer;
  reports: Map<string, Buffer>;
  offered: string | undefined;
}

/** A device polls, then each report brings the next command. Only reports are counted. */
export function prepareLoop(
  context: PhaseContext,
  devices: BenchDevice[],
  { phase, perDevice }: { phase: string; perDevice: number },
): PreparedPhase {
  const obeying = devices.map((device): Obeying => {
    const uuids = Array.from({ length: perDevice }, (_, n) => {
      return commandUuid(device.udid, phase, n + 1);
    });
    const reports = uuids.map((uuid): [string, Buffer] => {
      return [uuid, signedRequest(device, acknowledged(device.udid, uuid))];
    });
    const { udid } = device;
    return {
      idle: signedRequest(device, idle(udid)),
      reports: new Map(reports),
      offered: undefined,
    };
  });
  return {
    run: () =>
      withConnections(context, async (open) => {
        await pollOnce(obeying, open);
        return runLanes(open.length, async (lane, recorder) => {
          const busy = new Set(ofLane(obeying, lane, open.length));
          while (busy.size > 0) {
            for (const device of busy) {
              const report = device.reports.get(device.offered ?? '');
              if (report === undefined) {
                busy.delete(device);
                continue;
              }
              const startedAt = recorder.now();
              const { status, body } = await (open[lane] as HttpConnection).send(report);
              recorder.done(startedAt, status === 200);
              device.offered = offeredUuid(body);
            }
          }
        });
      }),
  };
}

async function withConnections<T>(
  { port, connections }: PhaseContext,
  work: (open: Connections) => Promise<T>,
): Promise<T> {
  const open = await Promise.all(
    Array.from({ length: connections }, () => HttpConnection.open(port)),
  );
  try {
    return await work(open);
  } finally {
    for (const connection of open) connection.close();
  }
}

async function pollOnce(obeying: Obeying[], open: Connections): Promise<void> {
  await Promise.all(
    open.map(async (connection, lane) => {
      for (const device of ofLane(obeying, lane, open.length)) {
        device.offered = offeredUuid((await connection.send(device.idle)).body);
      }
    }),
  );
}

function offeredUuid(body: Buffer): string | undefined {
  if (body.length === 0) return undefined;
  const at = body.indexOf(UUID_KEY);
  return UUID.exec(body.toString('latin1', at + UUID_KEY.length))?.[1]?.toLowerCase();
}
