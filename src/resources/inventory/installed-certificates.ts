import { bool, each, prose, text, timestamp } from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import { device, operatorWrites } from '../common.js';

export const installedCertificates = defineResource({
  type: 'installed_certificates',
  path: '/installed_certificates',
  table: 'installed_certificates',
  access: operatorWrites,
  search: { columns: ['x509_cn', 'subject'] },
  valueIndex: ['is_identity', 'is_managed', 'fingerprint_sha256', 'subject', 'issuer', 'serial'],
  attributes: {
    x509_cn: text(),
    ...each(bool(), ['is_identity', 'is_managed']),
    fingerprint_sha256: text({
      pattern: /^[0-9a-fA-F]{64}$/,
      like: '64 hexadecimal digits',
      ignoreCase: true,
    }),
    ...each(prose(), ['subject', 'issuer', 'serial']),
    ...each(timestamp(), ['not_before', 'not_after']),
  },
  relationships: { device },
});
