import { bigInteger, bool, each, text, version } from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import { device, operatorWrites } from '../common.js';

const attributes = {
  ...each(text(), ['bundle_identifier', 'name']),
  ...each(version(), ['short_version', 'version']),
  ...each(bigInteger(), ['bundle_size', 'dynamic_size']),
  ...each(bool(), ['is_managed', 'is_validated']),
  external_version_identifier: bigInteger(),
  distributor_identifier: text(),
  ...each(bool(), [
    'adhoc_codesigned',
    'appstore_vendable',
    'beta_app',
    'device_based_vpp',
    'has_update_available',
    'installing',
    'is_app_clip',
    'download_failed',
    'download_cancelled',
    'download_paused',
    'download_waiting',
  ]),
  source: text(),
};

export const installedApplications = defineResource({
  type: 'installed_applications',
  path: '/installed_applications',
  table: 'installed_applications',
  access: operatorWrites,
  attributes,
  relationships: { device },
});
