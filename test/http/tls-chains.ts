import type { OpenSsl } from '../crypto/openssl.js';

export type KeyKind = 'rsa' | 'ec';

const KEYS: Record<KeyKind, string[]> = {
  rsa: ['-newkey', 'rsa:2048', '-nodes'],
  ec: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384', '-nodes'],
};

export interface TlsChain {
  /** The certificate for localhost and the CA between it and the root, in PEM. */
  chain: string;
  key: string;
}

/** Creates root.pem, which clients trust. */
export function makeRoot(openssl: OpenSsl): void {
  openssl.run(
    'req',
    '-x509',
    ...KEYS.rsa,
    '-days',
    '9',
    '-subj',
    '/CN=Root',
    '-keyout',
    'root.key',
    '-out',
    'root.pem',
  );
  openssl.write('ca.ext', 'basicConstraints=critical,CA:true\nkeyUsage=keyCertSign\n');
  openssl.write('leaf.ext', 'subjectAltName=DNS:localhost\nextendedKeyUsage=serverAuth\n');
}

interface Issue {
  kind: KeyKind;
  issuer: string;
  extensions: string;
  subject: string;
}

function issue(openssl: OpenSsl, name: string, { kind, issuer, extensions, subject }: Issue): void {
  openssl.run(
    'req',
    '-new',
    ...KEYS[kind],
    '-subj',
    subject,
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.csr`,
  );
  openssl.run(
    'x509',
    '-req',
    '-in',
    `${name}.csr`,
    '-days',
    '9',
    '-extfile',
    extensions,
    '-CA',
    `${issuer}.pem`,
    '-CAkey',
    `${issuer}.key`,
    '-CAcreateserial',
    '-out',
    `${name}.pem`,
  );
}

/** A certificate for localhost below an intermediate CA below the root. */
export function makeChain(openssl: OpenSsl, kind: KeyKind): TlsChain {
  const between = { kind, issuer: 'root', extensions: 'ca.ext', subject: `/CN=Between ${kind}` };
  issue(openssl, `between-${kind}`, between);
  const leaf = { extensions: 'leaf.ext', subject: `/O=${kind}/CN=localhost` };
  issue(openssl, kind, { ...leaf, kind, issuer: `between-${kind}` });
  const read = (name: string) => openssl.read(name).toString('latin1');
  return { chain: read(`${kind}.pem`) + read(`between-${kind}.pem`), key: read(`${kind}.key`) };
}
