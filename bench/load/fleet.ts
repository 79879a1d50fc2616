import { createHash, type KeyObject } from 'node:crypto';
import { Oid } from '../../src/crypto/asn1/oids.js';
import { buildSignedData } from '../../src/crypto/cms/cms-signed-data.js';
import {
  exportPrivateKey,
  generateRsaKeyPair,
  importPrivateKey,
} from '../../src/crypto/keys/keys.js';
import {
  issueCertificate,
  type ParsedCertificate,
  parseCertificate,
} from '../../src/crypto/x509/certificate.js';
import { buildPlist, type PlistInput } from '../../src/protocol/plist/plist.js';

const DAY_MS = 86_400_000;
const MAX_KEYS = 64;
const BITS = 2048;

export const TOPIC = 'com.apple.mgmt.External.5a3bbd5f-0b1e-4a8e-9c80-4b3cf7d7a001';

/** What the processes of one run share: a CA of the benchmark's own, and keys in DER as base64. */
export interface FleetSeed {
  caCertificate: string;
  caKey: string;
  keys: string[];
}

export interface BenchDevice {
  udid: string;
  certificate: ParsedCertificate;
  privateKey: KeyObject;
}

export async function createFleetSeed(devices = MAX_KEYS): Promise<FleetSeed> {
  const [ca, ...pairs] = await Promise.all(
    Array.from({ length: Math.min(devices, MAX_KEYS) + 1 }, () => generateRsaKeyPair(BITS)),
  );
  if (ca === undefined) throw new Error('no key was made');
  const der = issueCertificate({
    subject: [{ type: 'CN', value: 'Benchmark CA' }],
    publicKey: ca.publicKey,
    issuerKey: ca.privateKey,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + 30 * DAY_MS),
    isCa: true,
    keyUsage: ['keyCertSign', 'cRLSign'],
  });
  const encode = (key: KeyObject) => exportPrivateKey(key).toString('base64');
  return {
    caCertificate: der.toString('base64'),
    caKey: encode(ca.privateKey),
    keys: pairs.map(({ privateKey }) => encode(privateKey)),
  };
}

export function udidOf(index: number): string {
  return hashedUuid(`device ${index}`).toUpperCase();
}

/** UDIDs of the first devices. */
export function udidsOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => udidOf(index));
}

/** The same as `md5(udid || '/' || phase || '/' || n)::uuid` in SQL. */
export function commandUuid(udid: string, phase: string, n: number): string {
  return hashedUuid(`${udid}/${phase}/${n}`);
}

/** Devices with an RSA-2048 certificate each; the keys behind them are shared, to make them fast. */
export class BenchFleet {
  private readonly ca: ParsedCertificate;
  private readonly caKey: KeyObject;
  private readonly keys: KeyObject[];
  private readonly made = new Map<number, BenchDevice>();

  constructor(seed: FleetSeed) {
    this.ca = parseCertificate(Buffer.from(seed.caCertificate, 'base64'));
    this.caKey = importPrivateKey(Buffer.from(seed.caKey, 'base64'));
    this.keys = seed.keys.map((key) => importPrivateKey(Buffer.from(key, 'base64')));
  }

  devices(from: number, to: number): BenchDevice[] {
    return Array.from({ length: to - from }, (_, offset) => this.device(from + offset));
  }

  private device(index: number): BenchDevice {
    const device = this.made.get(index) ?? this.createDevice(index);
    this.made.set(index, device);
    return device;
  }

  private createDevice(index: number): BenchDevice {
    const privateKey = this.keys[index % this.keys.length] as KeyObject;
    const der = issueCertificate({
      subject: [{ type: 'CN', value: `Device ${index}` }],
      publicKey: privateKey,
      issuer: this.ca,
      issuerKey: this.caKey,
      notBefore: new Date(Date.now() - DAY_MS),
      notAfter: new Date(Date.now() + 10 * DAY_MS),
      keyUsage: ['digitalSignature', 'keyEncipherment'],
      extendedKeyUsage: [Oid.clientAuth],
    });
    return { udid: udidOf(index), certificate: parseCertificate(der), privateKey };
  }
}

export function signatureOf({ certificate, privateKey }: BenchDevice, body: Buffer): string {
  const signer = { certificate, privateKey };
  return buildSignedData({ content: body, detached: true, signer }).toString('base64');
}

/** A whole HTTP request as bytes, so that sending it costs nothing but the write. */
export function signedRequest(device: BenchDevice, message: { [key: string]: PlistInput }): Buffer {
  return signedBytes(device, buildPlist(message), 'MessageType' in message);
}

export function signedBytes(device: BenchDevice, body: Buffer, isCheckIn = false): Buffer {
  const head = [
    'PUT /mdm HTTP/1.1',
    'Host: localhost',
    `Content-Type: application/x-apple-aspen-mdm${isCheckIn ? '-checkin' : ''}`,
    `Content-Length: ${body.length}`,
    `Mdm-Signature: ${signatureOf(device, body)}`,
    '\r\n',
  ].join('\r\n');
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

function hashedUuid(text: string): string {
  const hex = createHash('md5').update(text).digest('hex');
  return [8, 12, 16, 20, 32].map((end, i) => hex.slice([0, 8, 12, 16, 20][i], end)).join('-');
}
