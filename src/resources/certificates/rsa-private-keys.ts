import { bool, integer, oneOf, text, timestamp } from '../../jsonapi/definition/attributes.js';
import { defineResource, type ToMany } from '../../jsonapi/definition/definition.js';

/** Resources that use the key; a key in use cannot be deleted. */
function user(type: string): ToMany {
  return { kind: 'toMany', type, via: { foreignKey: 'rsa_private_key_id' }, write: 'never' };
}

/** Facts about private keys of any kind. The keys themselves are only in their download. */
export const rsaPrivateKeys = defineResource({
  type: 'rsa_private_keys',
  path: '/rsa_private_keys',
  table: 'rsa_private_keys',
  access: { read: 'viewer', create: null, update: 'admin', delete: 'admin' },
  attributes: {
    name: text({ max: 255 }),
    key_type: oneOf(['RSA', 'EC'], { write: 'never' }),
    key_size: integer({ write: 'never' }),
    fingerprint_sha256: text({ write: 'never', ignoreCase: true }),
    is_ca_key: bool({ write: 'never' }),
    created_at: timestamp({ write: 'never' }),
  },
  relationships: {
    certificates: user('certificates'),
    certificate_signing_requests: user('certificate_signing_requests'),
  },
});
