import { randomUUID, verify, X509Certificate } from 'node:crypto';
import plist from 'plist';
import { derNull } from '../../../src/crypto/asn1/der.js';
import { Oid } from '../../../src/crypto/asn1/oids.js';
import { encodePem } from '../../../src/crypto/asn1/pem.js';
import { issueCertificate, type ParsedCertificate } from '../../../src/crypto/x509/certificate.js';
import { parseCsr } from '../../../src/crypto/x509/csr.js';
import { asAuthority, ecIdentity, type Identity, rsaIdentity } from '../../crypto/identities.js';

const DAY = 86_400_000;

/** The certificates of an MDM vendor, with names like those of Apple's. */
export interface Vendor {
  root: Identity;
  intermediate: Identity;
  leaf: Identity;
  /** Issuer, then root. */
  chain: ParsedCertificate[];
}

function named(name: string) {
  return [
    { type: 'C', value: 'US' },
    { type: 'O', value: 'Apple Inc.' },
    { type: 'CN', value: name },
  ];
}

type Overrides = NonNullable<Parameters<typeof rsaIdentity>[0]>;

export async function makeVendor({
  leaf,
  intermediate,
}: {
  leaf?: Overrides;
  intermediate?: Overrides;
} = {}): Promise<Vendor> {
  const root = await ecIdentity('P-256', {
    ...asAuthority,
    pathLength: 2,
    subject: named('Apple Root CA'),
  });
  const worldwide = await ecIdentity('P-256', {
    ...asAuthority,
    subject: named('Apple Worldwide Developer Relations'),
    issuedBy: root,
    ...intermediate,
  });
  const signer = await rsaIdentity({
    subject: named(`MDM Vendor: Example ${randomUUID().slice(0, 8)}`),
    keyUsage: ['digitalSignature'],
    issuedBy: worldwide,
    ...leaf,
  });
  const chain = [worldwide.certificate, root.certificate];
  return { root, intermediate: worldwide, leaf: signer, chain };
}

/**
 * A stand-in for Apple's portal for push certificates, as far as its rules are known: it reads the
 * file with other tools than Muster's, and issues a certificate only if everything is right.
 */
export class PushPortal {
  constructor(
    private readonly vendorRoot: Identity,
    readonly pushCa: Identity,
  ) {}

  static async open({ root }: Vendor): Promise<PushPortal> {
    return new PushPortal(
      root,
      await ecIdentity('P-256', {
        ...asAuthority,
        subject: named('Apple Application Integration'),
      }),
    );
  }

  /** The file as it is uploaded; the certificate in PEM, as it is downloaded. Throws a reason. */
  submit(file: Buffer, topic: string): string {
    const xml = Buffer.from(file.toString('latin1'), 'base64').toString('utf8');
    const found = plist.parse(xml) as Record<string, string>;
    const csr = Buffer.from(found.PushCertRequestCSR ?? '', 'base64');
    const chain = (found.PushCertCertificateChain ?? '')
      .split(/(?<=-----END CERTIFICATE-----\n)/)
      .map((pem) => new X509Certificate(pem));
    const [vendor] = chain;
    if (vendor === undefined) throw new Error('no vendor certificate');
    this.#checkChain(chain);
    const signature = Buffer.from(found.PushCertSignature ?? '', 'base64');
    if (vendor.publicKey.asymmetricKeyType !== 'rsa') throw new Error('the vendor key is not RSA');
    if (!verify('sha256', csr, vendor.publicKey, signature)) throw new Error('bad signature');
    return this.#issue(csr, topic);
  }

  #checkChain(chain: X509Certificate[]): void {
    const last = chain.at(-1);
    if (!last?.raw.equals(this.vendorRoot.certificate.der)) throw new Error('no known root');
    chain.slice(0, -1).forEach((certificate, at) => {
      const issuer = chain[at + 1];
      const isIssued = issuer !== undefined && certificate.verify(issuer.publicKey);
      if (!isIssued || !certificate.checkIssued(issuer)) throw new Error('broken chain');
      if (!issuer.ca) throw new Error('an issuer is no CA');
    });
    const now = Date.now();
    const isOver = chain.some(({ validTo }) => new Date(validTo).getTime() < now);
    if (isOver) throw new Error('a certificate of the chain has expired');
  }

  #issue(csr: Buffer, topic: string): string {
    const { publicKey } = parseCsr(csr);
    const { modulusLength = 0 } = publicKey.asymmetricKeyDetails ?? {};
    if (publicKey.asymmetricKeyType !== 'rsa' || modulusLength < 2048) throw new Error('weak key');
    const marks = [Oid.applePushDevelopment, Oid.applePushProduction];
    const der = issueCertificate({
      subject: [
        { type: 'UID', value: topic },
        { type: 'CN', value: `APSP:${randomUUID()}` },
        { type: 'C', value: 'US' },
      ],
      publicKey,
      issuer: this.pushCa.certificate,
      issuerKey: this.pushCa.privateKey,
      notBefore: new Date(Date.now() - 3_600_000),
      notAfter: new Date(Date.now() + 365 * DAY),
      keyUsage: ['digitalSignature'],
      extendedKeyUsage: [Oid.clientAuth],
      furtherExtensions: marks.map((oid) => ({ oid, critical: false, value: derNull() })),
    });
    return encodePem('CERTIFICATE', der);
  }
}
