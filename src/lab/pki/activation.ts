import { generateRsaKeyPair, type KeyPair } from '../../crypto/keys/keys.js';
import {
  issueCertificate,
  type ParsedCertificate,
  parseCertificate,
} from '../../crypto/x509/certificate.js';
import type { SimulatedDevice } from '../devices/simulated-device.js';
import { signData } from './cms-signed-data.js';
import type { LabAuthority } from './lab-authority.js';

const DAY_MS = 86_400_000;

/**
 * Signs with the certificates that devices get at their activation: Apple's CA issues one to each
 * real device, the lab's CA to simulated ones. They share one key: generating keys takes longest.
 */
export class Activation {
  private keys: Promise<KeyPair> | undefined;
  private readonly issued = new WeakMap<SimulatedDevice, ParsedCertificate>();

  constructor(private readonly authority: LabAuthority) {}

  /** CMS SignedData, the content inside. */
  async sign(device: SimulatedDevice, content: Buffer): Promise<Buffer> {
    this.keys ??= generateRsaKeyPair();
    const keys = await this.keys;
    const certificate = this.issued.get(device) ?? this.issue(device, keys);
    this.issued.set(device, certificate);
    const { privateKey } = keys;
    return signData({ content, signer: { certificate: certificate.der, privateKey } });
  }

  private issue({ identity, random }: SimulatedDevice, { publicKey }: KeyPair) {
    const { certificate, privateKey } = this.authority;
    const der = issueCertificate({
      subject: [
        { type: 'C', value: 'US' },
        { type: 'ST', value: 'CA' },
        { type: 'L', value: 'Cupertino' },
        { type: 'O', value: 'Apple Inc.' },
        { type: 'OU', value: identity.platform === 'macOS' ? 'Mac' : identity.model.modelName },
        { type: 'CN', value: random.fork('activation').uuid() },
      ],
      publicKey,
      issuer: certificate,
      issuerKey: privateKey,
      notBefore: new Date(Date.now() - 400 * DAY_MS),
      notAfter: new Date(Date.now() + 700 * DAY_MS),
      keyUsage: ['digitalSignature', 'keyEncipherment'],
    });
    return parseCertificate(der);
  }
}
