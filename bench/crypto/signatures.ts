import { Oid } from '../../src/crypto/asn1/oids.js';
import { buildSignedData } from '../../src/crypto/cms/cms-signed-data.js';
import { findCertificatePath, isValidAt } from '../../src/crypto/x509/certificate-path.js';
import { MdmSignature } from '../../src/protocol/mdm/mdm-signature.js';
import { SignerCache } from '../../src/protocol/mdm/signer-cache.js';
import { type Identity, makeAuthority, makeIdentities } from './identities.js';

/** As large as the report of a DeviceInformation. */
const BODY = Buffer.alloc(1024, 'device ');
const KEYS = 16;

/** Detached signatures with signed attributes, SHA-256, over 1 KiB, from header to verdict. */
export async function measureSignatures(ms: number, devices: number): Promise<Rate[]> {
  const authority = await makeAuthority();
  const rates: Rate[] = [];
  for (const kind of ['RSA', 'EC'] as const) {
    const identities = await makeIdentities(authority, { kind, count: devices, keys: KEYS });
    const headers = identities.map(headerOf);
    const name = kind === 'RSA' ? 'RSA-2048' : 'ECDSA P-256';
    rates.push(
      rateOf(`Mdm-Signature, ${name}, known certificate`, ms, verifyKnown(headers)),
      rateOf(`Mdm-Signature, ${name}, new certificate`, ms, verifyNew(headers, authority)),
    );
  }
  return rates;
}

export interface Rate {
  name: string;
  /** On one thread. */
  perSecond: number;
  /** CPU of this process as a share of one core. */
  cpu: number;
}

const BATCH = 20;
const WARM_UP_MS = 300;

function headerOf({ certificate, privateKey }: Identity): string {
  const signer = { certificate, privateKey };
  return buildSignedData({ content: BODY, detached: true, signer }).toString('base64');
}

/** How often a second one thread does the work; it gets the number of the turn. */
function rateOf(name: string, ms: number, work: (index: number) => void): Rate {
  runFor(WARM_UP_MS, work);
  const before = process.cpuUsage();
  const { count, seconds } = runFor(ms, work);
  const { user, system } = process.cpuUsage(before);
  return { name, perSecond: count / seconds, cpu: (user + system) / 1e6 / seconds };
}

function runFor(ms: number, work: (index: number) => void): { count: number; seconds: number } {
  const startedAt = performance.now();
  const end = startedAt + ms;
  let count = 0;
  while (performance.now() < end) {
    for (let turn = 0; turn < BATCH; turn += 1) work(count + turn);
    count += BATCH;
  }
  return { count, seconds: (performance.now() - startedAt) / 1000 };
}

function verifyKnown(headers: readonly string[]): (index: number) => void {
  const cache = new SignerCache();
  return (index) => {
    const header = headers[index % headers.length] ?? '';
    const { certificate } = MdmSignature.read(header, cache).verify(BODY);
    if (!isValidAt(certificate, new Date())) throw new Error('not valid now');
  };
}

/** The certificate is read and its path to the CA is built each time, as for a device never seen. */
function verifyNew(headers: readonly string[], authority: Identity): (index: number) => void {
  const anchors = [authority.certificate];
  const cache = new SignerCache(1); // forgets each before it comes again
  return (index) => {
    const header = headers[index % headers.length] ?? '';
    const { certificate } = MdmSignature.read(header, cache).verify(BODY);
    const options = { anchors, at: new Date(), purpose: Oid.clientAuth };
    if (findCertificatePath(certificate, options) === undefined) throw new Error('no path');
  };
}
