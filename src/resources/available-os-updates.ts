import { bigInteger, bool, each, json, text, timestamp, url } from '../jsonapi/attributes.js';
import { defineResource } from '../jsonapi/definition.js';
import { device, operatorWrites } from './of-device.js';
import type { ResourceServices } from './services.js';

export const availableOsUpdates = defineResource<ResourceServices>({
  type: 'available_os_updates',
  path: '/available_os_updates',
  table: 'available_os_updates',
  access: operatorWrites,
  attributes: {
    ...each(text(), ['human_readable_name', 'human_readable_name_locale', 'product_key']),
    ...each(text(), ['product_name', 'version', 'build']),
    metadata_url: url(),
    ...each(text(), ['supplemental_build_version', 'supplemental_os_version_extra']),
    ...each(bool(), [
      'allows_install_later',
      'is_config_data_update',
      'is_critical',
      'is_firmware_update',
      'is_major_os_update',
      'is_security_response',
      'requires_bootstrap_token',
      'restart_required',
    ]),
    ...each(bigInteger(), ['download_size', 'install_size']),
    app_identifiers_to_close: json(),
    deferred_until: timestamp(),
  },
  relationships: { device },
});
