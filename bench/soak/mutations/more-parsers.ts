import {
  openEnvelopedData,
  type SealEnvelopeOptions,
  sealEnvelopedData,
} from '../../../src/crypto/cms-enveloped-data.js';
import {
  buildCertsOnly,
  buildSignedData,
  readCertsOnly,
} from '../../../src/crypto/cms-signed-data.js';
import { composeSmime } from '../../../src/crypto/compose-smime.js';
import { buildCrl, encodeCrlEntry } from '../../../src/crypto/crl.js';
import {
  derNull,
  derOctetString,
  derOid,
  derSequence,
  derUnsigned,
} from '../../../src/crypto/der.js';
import { parseOcspRequest } from '../../../src/crypto/ocsp-request.js';
import { Oid } from '../../../src/crypto/oids.js';
import { parseCrl } from '../../../src/crypto/parse-crl.js';
import { encodePem } from '../../../src/crypto/pem.js';
import { openSmime, readSmime } from '../../../src/crypto/smime.js';
import { openSignedDeviceInfo } from '../../../src/enroll/signed-device-info.js';
import { readClientCertificateHeader } from '../../../src/mdm/client-certificate-header.js';
import { parseStatusReport } from '../../../src/protocol/declarative-management.js';
import { fixture } from '../../../test/protocol/plist-fixtures.js';
import type { Identity } from '../../crypto/identities.js';
import type { Parser } from './feed.js';

const CONTENT = Buffer.from('Content-Type: text/plain\r\n\r\n-----BEGIN MESSAGE-----\r\n{}\r\n');
const MACHINE_INFO = Buffer.from(
  '<plist version="1.0"><dict><key>UDID</key><string>00008101-0</string>' +
    '<key>SERIAL</key><string>C02EXAMPLE1</string><key>CHALLENGE</key><string>x</string>' +
    '<key>MDM_CAN_REQUEST_SOFTWARE_UPDATE</key><true/></dict></plist>',
);
const HASH = Buffer.alloc(20, 1);
const HOUR_MS = 3_600_000;

function ocspRequest(serials: number): Buffer {
  const single = (serial: number) =>
    derSequence(
      derSequence(
        derSequence(derOid(Oid.sha1), derNull()),
        derOctetString(HASH),
        derOctetString(HASH),
        derUnsigned(Buffer.from([serial])),
      ),
    );
  const requests = Array.from({ length: serials }, (_, index) => single(index + 1));
  return derSequence(derSequence(derSequence(...requests)));
}

async function crlOf({ certificate, privateKey }: Identity): Promise<Buffer> {
  const now = new Date();
  const entry = { serial: Buffer.from([5]), revokedAt: now, reason: 'keyCompromise' as const };
  return buildCrl({
    issuer: certificate,
    issuerKey: privateKey,
    number: 7,
    thisUpdate: now,
    nextUpdate: new Date(now.getTime() + HOUR_MS),
    entries: [encodeCrlEntry(entry)],
  });
}

function envelopes({ certificate, privateKey }: Identity): Parser[] {
  const seal = (options: SealEnvelopeOptions) => sealEnvelopedData(CONTENT, certificate, options);
  const smime = composeSmime({ type: 'enveloped-data', der: seal({}) });
  const opener = { certificate, privateKey };
  return [
    {
      name: 'AuthEnvelopedData',
      seeds: [
        seal({ algorithm: 'aes-256-gcm' }),
        seal({ algorithm: 'aes-128-gcm', oaep: 'sha256' }),
      ],
      parse: (der) => openEnvelopedData(der, opener),
    },
    { name: 'sealed S/MIME message', seeds: [smime], parse: (bytes) => openSmime(bytes, opener) },
  ];
}

function headersOf({ certificate }: Identity): Buffer[] {
  const { der } = certificate;
  const pem = encodeURIComponent(encodePem('CERTIFICATE', der));
  return [`:${der.toString('base64')}:`, pem].map((text) => Buffer.from(text));
}

/** Beside those of certificates, messages and property lists: MIME, revocation, proxies. */
export async function moreParsers(authority: Identity, device: Identity): Promise<Parser[]> {
  const signature = buildSignedData({ content: CONTENT, detached: true, signer: device });
  const signed = composeSmime({ type: 'signed-data', der: signature, content: CONTENT });
  return [
    { name: 'signed S/MIME message', seeds: [signed], parse: readSmime },
    ...envelopes(authority),
    {
      name: 'file of certificates (PKCS #7)',
      seeds: [buildCertsOnly([device.certificate, authority.certificate])],
      parse: readCertsOnly,
    },
    { name: 'revocation list', seeds: [await crlOf(authority)], parse: parseCrl },
    { name: 'OCSP request', seeds: [ocspRequest(1), ocspRequest(3)], parse: parseOcspRequest },
    {
      name: 'signed device information',
      seeds: [buildSignedData({ content: MACHINE_INFO, signer: device })],
      parse: openSignedDeviceInfo,
    },
    {
      name: 'status report',
      seeds: [fixture('ddm/status-report.first.json')],
      parse: parseStatusReport,
    },
    {
      name: 'certificate in a header',
      seeds: headersOf(device),
      parse: (text) => readClientCertificateHeader([text.toString('latin1')]),
    },
  ];
}
