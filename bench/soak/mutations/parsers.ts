import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodePem, encodePem } from '../../../src/crypto/asn1/pem.js';
import {
  openEnvelopedData,
  sealEnvelopedData,
} from '../../../src/crypto/cms/cms-enveloped-data.js';
import {
  buildCertsOnly,
  buildSignedData,
  parseSignedData,
  verifySignedData,
} from '../../../src/crypto/cms/cms-signed-data.js';
import { importPublicKey } from '../../../src/crypto/keys/keys.js';
import { readPrivateKeyPem } from '../../../src/crypto/keys/private-key-pem.js';
import { openPkcs12 } from '../../../src/crypto/pkcs12/pkcs12.js';
import { parseCertificate, parseCertificates } from '../../../src/crypto/x509/certificate.js';
import { buildCsr, parseCsr } from '../../../src/crypto/x509/csr.js';
import { parseDistinguishedName } from '../../../src/crypto/x509/parse-distinguished-name.js';
import { decodeMessage } from '../../../src/protocol/mdm/mdm-messages.js';
import { MdmSignature } from '../../../src/protocol/mdm/mdm-signature.js';
import { SignerCache } from '../../../src/protocol/mdm/signer-cache.js';
import { parsePlist, parsePlistNodes } from '../../../src/protocol/plist/plist.js';
import { parsePkiMessage } from '../../../src/protocol/scep/scep.js';
import { buildPkcsReq } from '../../../test/helpers/scep-client.js';
import { type Identity, makeAuthority, makeIdentities } from '../../crypto/identities.js';
import type { Parser } from './feed.js';
import { moreParsers } from './more-parsers.js';

const FIXTURES = join(__dirname, '..', '..', '..', 'test', 'fixtures');
const CONTENT = Buffer.from('<plist version="1.0"><dict/></plist>');
const P12_PASSWORD = 'secret';

interface People {
  authority: Identity;
  devices: Identity[];
}

/** Every parser that receives untrusted bytes. */
export async function parsers(): Promise<Parser[]> {
  const authority = await makeAuthority();
  const rsa = await makeIdentities(authority, { kind: 'RSA', count: 1, keys: 1 });
  const ec = await makeIdentities(authority, { kind: 'EC', count: 1, keys: 1 });
  const people = { authority, devices: [...rsa, ...ec] };
  const [first] = people.devices;
  if (first === undefined) throw new Error('no device');
  return [
    ...certificateParsers(people),
    ...messageParsers(people),
    ...(await moreParsers(authority, first)),
    ...plistParsers(),
  ];
}

function certificateParsers({ devices }: People): Parser[] {
  const keys = devices.map(({ privateKey }) => privateKey.export({ format: 'pem', type: 'pkcs8' }));
  return [
    {
      name: 'certificate',
      seeds: devices.map(derOf),
      parse: (der) => parseCertificate(der).publicKey,
    },
    {
      name: 'certificates in PEM',
      seeds: [Buffer.concat(devices.map(({ certificate }) => pemOf(certificate)))],
      parse: parseCertificates,
    },
    { name: 'certification request', seeds: devices.map(csrOf), parse: parseCsr },
    {
      name: 'public key',
      seeds: devices.map(({ certificate }) => certificate.publicKeyRaw),
      parse: importPublicKey,
    },
    {
      name: 'private key in PEM',
      seeds: keys.map((pem) => Buffer.from(pem)),
      parse: (text) => readPrivateKeyPem(text.toString('latin1')),
    },
    {
      name: 'PEM',
      seeds: keys.map((pem) => Buffer.from(pem)),
      parse: (text) => decodePem(text.toString('latin1')),
    },
    {
      name: 'distinguished name',
      seeds: [Buffer.from('CN=a\\,b,O="Example, Inc.",UID=\\41,1.2.3=x,C=DE')],
      parse: (text) => parseDistinguishedName(text.toString('utf8')),
    },
    {
      name: 'PKCS #12',
      seeds: [fixture('cert/push.test-pair.p12')],
      parse: (bytes) => openPkcs12(bytes, P12_PASSWORD),
    },
  ];
}

function derOf({ certificate }: Identity): Buffer {
  return certificate.der;
}

function pemOf({ der }: Identity['certificate']): Buffer {
  return Buffer.from(encodePem('CERTIFICATE', der));
}

function csrOf({ certificate, privateKey }: Identity): Buffer {
  return buildCsr({
    subject: [{ type: 'CN', value: 'device' }],
    publicKey: certificate.publicKey,
    privateKey,
    challengePassword: 'challenge',
    subjectAltName: [{ type: 'dns', value: 'device.example.com' }],
  });
}

function fixture(path: string): Buffer {
  return readFileSync(join(FIXTURES, path));
}

function messageParsers({ authority, devices }: People): Parser[] {
  const attached = devices.map((signer) => buildSignedData({ content: CONTENT, signer }));
  const detached = devices.map((signer) =>
    buildSignedData({ content: CONTENT, detached: true, signer }),
  );
  const { certificate, privateKey } = authority;
  const [first] = devices;
  const requests = first === undefined ? [] : [pkcsReqOf(first, authority)];
  return [
    {
      name: 'SignedData',
      seeds: [...attached, ...detached],
      parse: (der) => verifySignedData({ der, content: CONTENT }),
    },
    {
      name: 'certificates only',
      seeds: [buildCertsOnly([certificate])],
      parse: (der) => parseSignedData(der).certificates.map(parseCertificate),
    },
    {
      name: 'Mdm-Signature',
      seeds: detached.map((der) => Buffer.from(der.toString('base64'))),
      parse: (text) =>
        MdmSignature.read(text.toString('latin1'), new SignerCache(1)).verify(CONTENT),
    },
    {
      name: 'EnvelopedData',
      seeds: [
        sealEnvelopedData(CONTENT, certificate),
        sealEnvelopedData(CONTENT, certificate, { algorithm: 'des-ede3-cbc' }),
      ],
      parse: (der) => openEnvelopedData(der, { certificate, privateKey }),
    },
    {
      name: 'SCEP message',
      seeds: [...requests, fixture('scep/mdmclient-PKIOperation.der')],
      parse: parsePkiMessage,
    },
  ];
}

function pkcsReqOf(device: Identity, authority: Identity): Buffer {
  return buildPkcsReq({
    signerCertificate: device.certificate,
    signerKey: device.privateKey,
    caCertificate: authority.certificate,
    transactionId: 'transaction',
    senderNonce: randomBytes(16),
    csr: csrOf(device),
    cipher: 'aes-128-cbc',
    digest: 'sha256',
  });
}

function plistParsers(): Parser[] {
  const messages = [
    fixture('checkin/Authenticate.ios-11.3.1.plist'),
    fixture('checkin/TokenUpdate.ipad-9.3.5.plist'),
    fixture('checkin/CheckOut.macos-10.11.plist'),
  ];
  return [
    { name: 'property list', seeds: messages, parse: (bytes) => parsePlist(bytes) },
    { name: 'property list as nodes', seeds: messages, parse: (bytes) => parsePlistNodes(bytes) },
    { name: 'message of a device', seeds: messages, parse: decodeMessage },
  ];
}
