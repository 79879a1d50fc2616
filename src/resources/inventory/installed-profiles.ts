import { bigInteger, bool, each, json, prose, text } from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import { device, operatorWrites } from '../common.js';

export const installedProfiles = defineResource({
  type: 'installed_profiles',
  path: '/installed_profiles',
  table: 'installed_profiles',
  access: operatorWrites,
  fewValues: { payload_identifier: '>' },
  valueIndex: [
    ...['has_removal_password', 'is_encrypted', 'is_managed', 'payload_removal_disallowed'],
    ...[
      'payload_display_name',
      'payload_organization',
      'payload_uuid',
      'payload_version',
      'source',
    ],
  ],
  attributes: {
    ...each(bool(), ['has_removal_password', 'is_encrypted', 'is_managed']),
    payload_description: prose(),
    payload_display_name: text(),
    payload_identifier: text({ ignoreCase: true }),
    payload_organization: text(),
    payload_removal_disallowed: bool(),
    payload_uuid: text({ ignoreCase: true }),
    payload_version: bigInteger(),
    source: text(),
    signer_certificates: json(),
  },
  relationships: {
    device,
    payloads: {
      kind: 'toMany',
      type: 'installed_payloads',
      via: { foreignKey: 'installed_profile_id' },
      write: 'never',
    },
  },
});
