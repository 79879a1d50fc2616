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

/** One of the lab's CAs: its setting, the label that its key is sealed with, and how it is made. */
interface LabCa {
  name: LabSettingName;
  sealLabel: string;
  create(): Promise<LabAuthority>;
}

const SERVICES: LabCa = {
  name: 'lab',
  sealLabel: 'lab/authority',
  create: createLabAuthority,
};
const DEVICES: LabCa = {
  name: 'lab_device_ca',
  sealLabel: 'lab/device-ca',
  create: createLabFactoryCa,
};

type Access = (trx: Transaction, box: SecretBox) => Promise<LabAuthority>;

type Find = (...args: Parameters<Access>) => Promise<LabAuthority | undefined>;

/** The CA that stands for those behind Apple's services. */
export const findServiceCa: Find = (trx, box) => find(trx, box, SERVICES);
export const makeServiceCa: Access = (trx, box) => make(trx, box, SERVICES);

/** The CA that stands for the one that certifies devices. */
export const findFactoryCa: Find = (trx, box) => find(trx, box, DEVICES);
export const makeFactoryCa: Access = (trx, box) => make(trx, box, DEVICES);

async function find(trx: Transaction, box: SecretBox, { name, sealLabel }: LabCa) {
  const setting = await readLabSetting(trx, name);
  if (setting === undefined) return undefined;
  const privateKey = importPrivateKey(box.open(setting.sealedKey, sealLabel));
  return { certificate: parseCertificate(setting.certificate), privateKey };
}

async function make(trx: Transaction, box: SecretBox, { name, sealLabel, create }: LabCa) {
  const made = await create();
  const sealedKey = box.seal(exportPrivateKey(made.privateKey), sealLabel);
  await writeLabSetting(trx, { certificate: made.certificate.der, sealedKey }, name);
  return made;
}
