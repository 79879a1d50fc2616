import {
  derNull,
  derOctetString,
  derOid,
  derSequence,
  derUnsigned,
} from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import { encodePem } from '../../../src/crypto/asn1/pem.js';
import {
  envelopeRecipients,
  openEnvelopedData,
  type SealEnvelopeOptions,
  sealEnvelopedData,
} from '../../../src/crypto/cms/cms-enveloped-data.js';
import {
  buildCertsOnly,
  buildSignedData,
  readCertsOnly,
} from '../../../src/crypto/cms/cms-signed-data.js';
import { readSmime } from '../../../src/crypto/cms/smime.js';
import { formatBypassCode, parseBypassCode } from '../../../src/crypto/secrets/bypass-code.js';
import { buildCrl, encodeCrlEntry } from '../../../src/crypto/x509/crl.js';
import { parseOcspRequest } from '../../../src/crypto/x509/ocsp-request.js';
import { readFailure } from '../../../src/dep/client/answer-failure.js';
import {
  readAccount,
  readDefinition,
  readJson,
  readLock,
  readPage,
  readResults,
} from '../../../src/dep/client/answers.js';
import { nextSessionValue, sessionValue } from '../../../src/dep/client/session.js';
import { openSignedDeviceInfo } from '../../../src/enroll/signed-device-info.js';
import { AppError } from '../../../src/errors.js';
import { readClientCertificateHeader } from '../../../src/mdm/client-certificate-header.js';
import { parseTokenText, readDepToken } from '../../../src/protocol/dep-token.js';
import { parseStatusReport } from '../../../src/protocol/mdm/declarative-management.js';
import { composeSmime } from '../../../test/helpers/compose-smime.js';
import { openSmime } from '../../../test/helpers/open-smime.js';
import { parseCrl } from '../../../test/helpers/parse-crl.js';
import { fixture } from '../../../test/protocol/plist/plist-fixtures.js';
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

const SERVER_TOKEN = Buffer.from(
  '-----BEGIN MESSAGE-----\n{"consumer_key":"CK_1","consumer_secret":"CS_1","access_token":"AT_1",' +
    '"access_secret":"AS_1","access_token_expiry":"2031-01-15T09:30:00Z"}\n-----END MESSAGE-----\n',
);

const DEP_ANSWERS = [
  '{"devices":[{"serial_number":"C1","profile_uuid":"C1F123098EB5074580041E69883004C3",' +
    '"op_date":"2026-01-01T00:00:00Z"}],"cursor":"MDow","more_to_follow":true}',
  '{"devices":{"C1":"SUCCESS"},"retry_after_seconds":5}',
  '{"server_name":"Muster","server_uuid":"677CAB70FE1811E284C8B1FF9A7C46CC","org_type":"org"}',
  '{"profile_uuid":"C1F123098EB5074580041E69883004C3","devices":{}}',
  '{"serial_number":"C1","response_status":"SUCCESS"}',
  '{"auth_session_token":"1234567890abcdef"}',
].map((text) => Buffer.from(text));
const ASKED = { path: '/devices/sync', host: 'https://localhost', now: 0 };

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
    { name: 'server token', seeds: [SERVER_TOKEN], parse: readServerToken },
    {
      name: 'answer of DEP',
      seeds: DEP_ANSWERS,
      parse: readDepAnswer,
    },
    {
      name: 'bypass code',
      seeds: [Buffer.from(formatBypassCode(Buffer.alloc(16, 0xa5)))],
      parse: (bytes) => parseBypassCode(bytes.toString('utf8')),
    },
  ];
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
    {
      name: 'recipients of a message',
      seeds: [seal({}), seal({ algorithm: 'aes-256-gcm' })],
      parse: envelopeRecipients,
    },
  ];
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

function headersOf({ certificate }: Identity): Buffer[] {
  const { der } = certificate;
  const pem = encodeURIComponent(encodePem('CERTIFICATE', der));
  return [`:${der.toString('base64')}:`, pem].map((text) => Buffer.from(text));
}

function readServerToken(bytes: Buffer): void {
  const members = parseTokenText(bytes);
  if (members === undefined) throw new AppError('invalid_token', 422, 'no JSON object');
  readDepToken(members);
}

/** Whatever the call was, and as a refusal too; its header is as odd as its body. */
function readDepAnswer(bytes: Buffer): void {
  const body = bytes.toString('utf8');
  const header = bytes.toString('latin1');
  const names = ['retry-after', 'x-adm-auth-session', 'www-authenticate', 'date'];
  const headers = Object.fromEntries(names.map((name) => [name, header]));
  for (const status of [400, 401, 403, 429, 503]) {
    readFailure({ status, headers, body }, ASKED);
    readFailure({ status, headers, body }, { ...ASKED, path: '/session' });
  }
  const answer = { status: 200, headers, body };
  const value = readJson(body);
  const reads = [readPage, readAccount, readDefinition].map((read) => read(value));
  const results = [readResults(value, 0), readLock(value, 'C1')];
  const sessions = [sessionValue(answer), nextSessionValue(answer)];
  if ([...reads, ...results, ...sessions].some((read) => read !== undefined)) return;
  throw new AppError('invalid_message', 400, 'no answer of DEP');
}
