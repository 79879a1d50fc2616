import { randomUUID } from 'node:crypto';
import { connectDatabase } from '../../src/db/connection/database.js';
import { CheckIns } from '../../src/db/device-path/check-ins.js';
import { type IncomingReport, ReportExchange } from '../../src/db/device-path/report-exchange.js';
import { MdmSignature } from '../../src/protocol/mdm/mdm-signature.js';
import { SignerCache } from '../../src/protocol/mdm/signer-cache.js';
import { buildPlist } from '../../src/protocol/plist/plist.js';
import { type BenchDevice, commandUuid, signatureOf, TOPIC } from './fleet.js';
import { ofLane, runLanes } from './measure.js';
import { acknowledged, idle } from './messages.js';
import type { PreparedPhase } from './phases.js';

/** What the parts of the work cost alone: the best that any server built of them could reach. */
export interface Floor {
  /** Signature checks on one thread, certificates known. */
  signatures(devices: BenchDevice[], seconds: number): PreparedPhase;
  /** The statements of the device path without HTTP, signatures and property lists. */
  idle(devices: BenchDevice[], seconds: number): PreparedPhase;
  loop(devices: BenchDevice[], commands: { phase: string; perDevice: number }): PreparedPhase;
  enroll(devices: BenchDevice[]): PreparedPhase;
  close(): Promise<void>;
}

const INVENTORY = 6;
const SEALED_PUSH = Buffer.alloc(160, 1);
const SECONDS = 1000;

export function createFloor(options: { databaseUrl: string; connections: number }): Floor {
  const { connections, databaseUrl } = options;
  const db = connectDatabase({ connectionString: databaseUrl });
  const reportExchange = new ReportExchange({ db, handledTypes: [] });
  const checkIns = new CheckIns(db);

  function idleFloor(devices: BenchDevice[], seconds: number): PreparedPhase {
    const polls = devices.map(idleReport);
    const run = () => {
      const end = performance.now() + seconds * SECONDS;
      return runLanes(connections, async (lane, recorder) => {
        const own = ofLane(polls, lane, connections);
        for (let turn = 0; ; turn += 1) {
          const startedAt = recorder.now();
          if (startedAt >= end) return;
          const answer = await reportExchange.exchange(own[turn % own.length] as IncomingReport);
          recorder.done(startedAt, answer.isSameDevice && answer.next === null);
        }
      });
    };
    return { run };
  }

  function loopFloor(
    devices: BenchDevice[],
    { phase, perDevice }: { phase: string; perDevice: number },
  ): PreparedPhase {
    const reports = devices.map((device) =>
      Array.from({ length: perDevice }, (_, n) =>
        reportOfCommand(device, commandUuid(device.udid, phase, n + 1)),
      ),
    );
    const run = () =>
      runLanes(connections, async (lane, recorder) => {
        const own = ofLane(reports, lane, connections);
        for (let n = 0; n < perDevice; n += 1) {
          for (const ofDevice of own) {
            const startedAt = recorder.now();
            const answer = await reportExchange.exchange(ofDevice[n] as IncomingReport);
            recorder.done(startedAt, answer.reported !== null);
          }
        }
      });
    return { run };
  }

  function enrollFloor(devices: BenchDevice[]): PreparedPhase {
    const run = () =>
      runLanes(connections, async (lane, recorder) => {
        for (const device of ofLane(devices, lane, connections)) {
          const startedAt = recorder.now();
          recorder.done(startedAt, await enrollInDatabase(checkIns, device));
        }
      });
    return { run };
  }

  const close = () => db.close();
  return { signatures, idle: idleFloor, loop: loopFloor, enroll: enrollFloor, close };
}

function signatures(devices: BenchDevice[], seconds: number): PreparedPhase {
  const signed = devices.map((device) => {
    const body = buildPlist(idle(device.udid));
    return { body, header: signatureOf(device, body) };
  });
  const cache = new SignerCache();
  for (const { header, body } of signed) MdmSignature.read(header, cache).verify(body);
  const run = () => {
    const end = performance.now() + seconds * SECONDS;
    return runLanes(1, async (_lane, recorder) => {
      for (let turn = 0; ; turn += 1) {
        const startedAt = recorder.now();
        if (startedAt >= end) return;
        const { header, body } = signed[turn % signed.length] as (typeof signed)[number];
        MdmSignature.read(header, cache).verify(body);
        recorder.done(startedAt, true);
      }
    });
  };
  return { run };
}

function idleReport({ certificate, udid }: BenchDevice): IncomingReport {
  return {
    fingerprint: certificate.fingerprint,
    deviceKey: udid.toLowerCase(),
    status: 'Idle',
    commandUuid: null,
    errorChain: null,
    result: null,
  };
}

function reportOfCommand(device: BenchDevice, uuid: string): IncomingReport {
  const result = buildPlist(acknowledged(device.udid, uuid));
  return { ...idleReport(device), status: 'Acknowledged', commandUuid: uuid, result };
}

async function enrollInDatabase(
  checkIns: CheckIns,
  { udid, certificate }: BenchDevice,
): Promise<boolean> {
  const who = { fingerprint: certificate.fingerprint, deviceKey: udid.toLowerCase() };
  const unknown = { enrollmentId: null, imei: null, meid: null, cell: null };
  const { device } = await checkIns.authenticate({
    ...unknown,
    fingerprint: who.fingerprint,
    issuer: null,
    mayEnroll: true,
    notAfter: certificate.notAfter,
    renewAt: certificate.notAfter,
    udid,
    topic: TOPIC,
    platform: 'macOS',
    serialNumber: `F${udid.slice(0, 8)}`,
    deviceName: 'Benchmark Mac',
    model: 'Mac14,2',
    modelName: 'MacBook Air',
    productName: 'Mac14,2',
    osVersion: '14.6.1',
    buildVersion: '23G93',
  });
  if (device === null) return false;
  const updated = await checkIns.updateToken({
    ...who,
    deviceId: device.deviceId,
    sealedPush: SEALED_PUSH,
    topic: TOPIC,
    cell: null,
    awaitingConfiguration: false,
    unlockToken: null,
    inventory: Array.from({ length: INVENTORY }, (_, index) => ({
      uuid: randomUUID(),
      requestType: 'SecurityInfo',
      payload: Buffer.alloc(400, 0x20),
      sha256: Buffer.alloc(32, index),
    })),
  });
  return updated?.isFirst === true;
}
