import { randomUUID } from 'node:crypto';
import {
  type BuildSignedDataOptions,
  buildSignedData,
} from '../../src/crypto/cms/cms-signed-data.js';
import type { KeyPair } from '../../src/crypto/keys/keys.js';
import type { ParsedCertificate } from '../../src/crypto/x509/certificate.js';
import {
  buildPlist,
  type PlistDict,
  type PlistInput,
  parsePlistDict,
} from '../../src/protocol/plist/plist.js';
import type { TestApp } from './app.js';
import { preparedKeys } from './prepared-keys.js';

export const TOPIC = 'com.apple.mgmt.External.00000000-0000-0000-0000-000000000000';
export const CHECK_IN_TYPE = 'application/x-apple-aspen-mdm-checkin';

export interface Reply {
  status: number;
  headers: Headers;
  body: Buffer;
}

export type Fields = { [key: string]: PlistInput };

export interface SendOptions {
  contentType?: string;
  path?: string;
  /** Instead of the signature over the body; null leaves the header out. */
  signature?: string | null;
  signing?: Partial<BuildSignedDataOptions>;
}

let sharedKeys: Promise<KeyPair> | undefined;

/** One key for all test devices. */
export function deviceKeys(): Promise<KeyPair> {
  sharedKeys ??= preparedKeys('device');
  return sharedKeys;
}

/** A device as the wire sees it: an identity certificate, its key, and ids. */
export class TestDevice {
  readonly pushMagic = randomUUID();
  readonly token = Buffer.from(randomUUID());

  constructor(
    private readonly url: string,
    private readonly keys: KeyPair,
    readonly certificate: ParsedCertificate,
    /** `UDID`, or `EnrollmentID` of a user enrollment. */
    readonly ids: Fields,
  ) {}

  get udid(): string {
    return String(this.ids.UDID ?? this.ids.EnrollmentID);
  }

  /** The same device with another certificate. */
  with(certificate: ParsedCertificate): TestDevice {
    return new TestDevice(this.url, this.keys, certificate, this.ids);
  }

  /** The same certificate under other ids. */
  as(ids: Fields): TestDevice {
    return new TestDevice(this.url, this.keys, this.certificate, ids);
  }

  sign(content: Buffer, options: Partial<BuildSignedDataOptions> = {}): string {
    const signer = { certificate: this.certificate, privateKey: this.keys.privateKey };
    return buildSignedData({ content, detached: true, signer, ...options }).toString('base64');
  }

  async send(message: Fields | Buffer, options: SendOptions = {}): Promise<Reply> {
    const body = Buffer.isBuffer(message) ? message : buildPlist(message);
    const { contentType, path = '/mdm', signing } = options;
    const signature =
      options.signature === undefined ? this.sign(body, signing) : options.signature;
    const response = await fetch(`${this.url}${path}`, {
      method: 'PUT',
      body: new Uint8Array(body),
      headers: {
        ...(contentType === undefined ? {} : { 'Content-Type': contentType }),
        ...(signature === null ? {} : { 'Mdm-Signature': signature }),
      },
    });
    const { status, headers } = response;
    return { status, headers, body: Buffer.from(await response.arrayBuffer()) };
  }

  checkIn(MessageType: string, fields: Fields = {}): Promise<Reply> {
    const message = { MessageType, Topic: TOPIC, ...this.ids, ...fields };
    return this.send(message, { contentType: CHECK_IN_TYPE });
  }

  authenticate(fields: Fields = {}): Promise<Reply> {
    const facts = { DeviceName: 'Test device', Model: 'MK2L3LL', ModelName: 'iPhone' };
    return this.checkIn('Authenticate', { ...facts, ProductName: 'iPhone14,5', ...fields });
  }

  tokenUpdate(fields: Fields = {}): Promise<Reply> {
    const { token: Token, pushMagic: PushMagic } = this;
    return this.checkIn('TokenUpdate', { Token, PushMagic, ...fields });
  }

  checkOut(fields: Fields = {}): Promise<Reply> {
    return this.checkIn('CheckOut', fields);
  }

  idle(fields: Fields = {}): Promise<Reply> {
    return this.send({ Status: 'Idle', ...this.ids, ...fields });
  }

  report(CommandUUID: string, Status = 'Acknowledged', fields: Fields = {}): Promise<Reply> {
    return this.send({ Status, CommandUUID, ...this.ids, ...fields });
  }

  /** Authenticate and TokenUpdate. */
  async enroll(facts: Fields = {}, token: Fields = {}): Promise<this> {
    for (const reply of [await this.authenticate(facts), await this.tokenUpdate(token)]) {
      if (reply.status !== 200) throw new Error(`enrollment answered ${reply.status}`);
    }
    return this;
  }
}

export async function createTestDevice(
  { url, authority }: TestApp,
  ids: Fields = { UDID: randomUUID().toUpperCase() },
): Promise<TestDevice> {
  const keys = await deviceKeys();
  return new TestDevice(url, keys, issueIdentity(authority, keys), ids);
}

/** One more identity certificate of the app's CA. */
export function issueIdentity(
  authority: TestApp['authority'],
  { publicKey }: KeyPair,
): ParsedCertificate {
  return authority.issueDeviceCertificate({ publicKey, subject: [] });
}

/** The command in a reply: its UUID and its dictionary; undefined when the reply is empty. */
export function commandIn({ body }: Reply): { uuid: string; command: PlistDict } | undefined {
  if (body.length === 0) return undefined;
  const { CommandUUID, Command } = parsePlistDict(body);
  return { uuid: String(CommandUUID), command: Command as PlistDict };
}
