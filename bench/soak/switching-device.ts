import { setTimeout as sleep } from 'node:timers/promises';
import { parsePlistDict } from '../../src/protocol/plist/plist.js';
import { type BenchDevice, signedRequest } from '../load/fleet.js';
import { HttpConnection, type Reply } from '../load/http-connection.js';
import { authenticate, idle, tokenUpdate } from '../load/messages.js';

/** Where the processes listen. Changes when one is replaced. */
export type Ports = [number, number];

/** Until an idle device polls again, as after a push. */
const IDLE_MS = 500;
const RETRY_MS = 50;

/** A device that sends each message to the other process than the last, and again until it is answered. */
export class SwitchingDevice {
  readonly udid: string;
  /** Commands whose answer the server has stored. */
  answered = 0;
  /** Messages that got no answer, or 503. */
  resent = 0;
  /** Commands that came again although the server had stored their answer. */
  deliveredAgain = 0;
  private readonly done = new Set<string>();
  private readonly idle: Buffer;

  constructor(
    private readonly device: BenchDevice,
    private readonly ports: Ports,
    private turn: number,
    /** Ends what is under way. */
    private readonly signal: AbortSignal,
  ) {
    this.udid = device.udid;
    this.idle = signedRequest(device, idle(device.udid));
  }

  async enroll(): Promise<void> {
    await this.send(signedRequest(this.device, authenticate(this.udid)));
    await this.send(signedRequest(this.device, tokenUpdate(this.udid)));
  }

  /** Polls and answers until this many commands are answered. */
  async answerAll(count: number): Promise<void> {
    while (this.answered < count) {
      let reply = await this.send(this.idle);
      if (reply.body.length === 0) await sleep(IDLE_MS);
      while (reply.body.length > 0) reply = await this.answer(reply.body);
    }
  }

  private async answer(body: Buffer): Promise<Reply> {
    const { CommandUUID: uuid } = parsePlistDict(body) as { CommandUUID: string };
    if (this.done.has(uuid)) this.deliveredAgain += 1;
    const message = { CommandUUID: uuid, Status: 'Acknowledged', UDID: this.udid };
    const reply = await this.send(signedRequest(this.device, message));
    if (!this.done.has(uuid)) this.answered += 1;
    this.done.add(uuid);
    return reply;
  }

  private async send(request: Buffer): Promise<Reply> {
    for (;;) {
      this.signal.throwIfAborted();
      this.turn += 1;
      const reply = await this.try(request).catch(() => undefined);
      if (reply?.status === 200) return reply;
      if (reply !== undefined && reply.status !== 503) {
        throw new Error(`a device was answered ${reply.status}: ${String(reply.body)}`);
      }
      this.resent += 1;
      await sleep(RETRY_MS);
    }
  }

  private async try(request: Buffer): Promise<Reply> {
    const connection = await HttpConnection.open(this.ports[this.turn % 2] ?? 0);
    try {
      return await connection.send(request);
    } finally {
      connection.close();
    }
  }
}
