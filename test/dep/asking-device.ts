import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSignedData } from '../../src/crypto/cms/cms-signed-data.js';
import { buildPlist } from '../../src/protocol/plist/plist.js';
import { asAuthority, ecIdentity, type Identity, identityOf } from '../crypto/identities.js';
import { startApp, type TestApp, type TestAppOptions } from '../helpers/app.js';
import { deviceKeys, type Fields } from '../helpers/device.js';
import { temporaryDirectory } from '../helpers/temporary-directory.js';
import { certificatePem } from '../mdm/certified-device.js';

/** An app, and certificates of a device CA that it trusts. */
export interface DepTestServer {
  app: TestApp;
  /** Signs as a device. */
  device: Identity;
}

let authority: Promise<Identity> | undefined;

/** The CA that stands in for Apple's; the same in all apps of a file. */
export function deviceAuthority(): Promise<Identity> {
  authority ??= ecIdentity('P-256', asAuthority);
  return authority;
}

export async function startDepTestServer({
  env,
  ...options
}: TestAppOptions = {}): Promise<DepTestServer> {
  const issuedBy = await deviceAuthority();
  const file = join(temporaryDirectory(), 'device-ca.pem');
  writeFileSync(file, certificatePem(issuedBy.certificate));
  const app = await startApp({ ...options, env: { ...env, DEVICE_CA_FILE: file } });
  return { app, device: identityOf(await deviceKeys(), { issuedBy }) };
}

export const UDID = '00008101-001C1D1E3A88001E';

export const MACHINE: Fields = {
  UDID,
  SERIAL: 'C02PROGRAM1',
  PRODUCT: 'iPhone14,5',
  VERSION: '21A342',
  OS_VERSION: '17.0',
  IMEI: '35 123456 789012 3',
  MEID: '35123456789012',
  LANGUAGE: 'de-CH',
};

export function signedBy({ certificate, privateKey }: Identity, content: Buffer): Buffer {
  return buildSignedData({ content, signer: { certificate, privateKey } });
}

/** What Setup Assistant posts. */
export async function askToEnroll(
  { url }: TestApp,
  der: Buffer,
  contentType: string | null = 'application/pkcs7-signature',
) {
  const response = await fetch(`${url}/dep/enroll`, {
    method: 'POST',
    // A typed array, unlike text, brings no Content-Type of its own.
    body: new Uint8Array(der),
    headers: contentType === null ? {} : { 'Content-Type': contentType },
  });
  const type = response.headers.get('content-type');
  return { status: response.status, type, body: Buffer.from(await response.arrayBuffer()) };
}

/** As a device with these facts, signed with the certificate of the device CA. */
export function askAs({ app, device }: DepTestServer, facts: Fields = {}) {
  const present = Object.entries({ ...MACHINE, ...facts }).filter(([, value]) => value !== '');
  return askToEnroll(app, signedBy(device, buildPlist(Object.fromEntries(present))));
}
