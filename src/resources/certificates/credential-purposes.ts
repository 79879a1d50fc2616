import { oneOf } from '../../jsonapi/definition/attributes.js';

/** What the server uses a certificate for. */
export const CERTIFICATE_PURPOSES = [
  'mdm.cacert',
  'mdm.pushcert',
  'mdm.webcrt',
  'mdm.device',
  'mdm.encrypt',
  'mdm.vendor',
  'dep.stoken',
  'dep.anchor',
  'dep.supervision',
] as const;

export const purpose = oneOf(CERTIFICATE_PURPOSES, { required: true });
