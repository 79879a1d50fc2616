import { exportPrivateKey, importPrivateKey } from '../crypto/keys/keys.js';
import type { SecretBox } from '../crypto/secrets/secret-box.js';
import { parseCertificate } from '../crypto/x509/certificate.js';
import {
  type LabSettingName,
  readLabSetting,
  writeLabSetting,
} from '../db/admin/lab-repository.js';
import type { Transaction } from '../db/connection/unit-of-work.js';
import {
  createLabAuthority,
  createLabFactoryCa,
  type LabAuthority,
} from '../lab/pki/lab-authority.js';

/** One of the lab's CAs: where it lies, what its key is bound to, and how it is made. */
interface Place {
  name: LabSettingName;
  identity: string;
  create(): Promise<LabAuthority>;
}

const SERVICES: Place = {
  name: 'lab',
  identity: 'lab/authority',
  create: createLabAuthority,
};
const DEVICES: Place = {
  name: 'lab_device_ca',
  identity: 'lab/device-ca',
  create: createLabFactoryCa,
};

async function find(trx: Transaction, box: SecretBox, { name, identity }: Place) {
  const setting = await readLabSetting(trx, name);
  if (setting === undefined) return undefined;
  const privateKey = importPrivateKey(box.open(setting.sealedKey, identity));
  return { certificate: parseCertificate(setting.certificate), privateKey };
}

async function make(trx: Transaction, box: SecretBox, { name, identity, create }: Place) {
  const made = await create();
  const sealedKey = box.seal(exportPrivateKey(made.privateKey), identity);
  await writeLabSetting(trx, { certificate: made.certificate.der, sealedKey }, name);
  return made;
}

type Access = (trx: Transaction, box: SecretBox) => Promise<LabAuthority>;
type Find = (...args: Parameters<Access>) => Promise<LabAuthority | undefined>;

/** The CA that stands for those behind Apple's services. */
export const findServiceCa: Find = (trx, box) => find(trx, box, SERVICES);
export const makeServiceCa: Access = (trx, box) => make(trx, box, SERVICES);

/** The CA that stands for the one that certifies devices. */
export const findFactoryCa: Find = (trx, box) => find(trx, box, DEVICES);
export const makeFactoryCa: Access = (trx, box) => make(trx, box, DEVICES);
