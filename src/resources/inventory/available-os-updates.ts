import {
  bigInteger,
  bool,
  each,
  float,
  json,
  text,
  timestamp,
  url,
  version,
} from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import { device, operatorWrites } from '../common.js';

export const availableOsUpdates = defineResource({
  type: 'available_os_updates',
  path: '/available_os_updates',
  table: 'available_os_updates',
  access: operatorWrites,
  attributes: {
    ...each(text(), ['human_readable_name', 'human_readable_name_locale', 'product_key']),
    product_name: text(),
    ...each(version(), ['version', 'build', 'supplemental_build_version']),
    metadata_url: url(),
    supplemental_os_version_extra: text(),
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
    // What OSUpdateStatus and ScheduleOSUpdate report.
    ...each(text(), ['status', 'install_action']),
    is_downloaded: bool(),
    download_percent_complete: float(),
    ...each(bigInteger(), ['max_deferrals', 'deferrals_remaining']),
    next_scheduled_install: timestamp(),
    ...each(json(), ['past_notifications', 'error_chain']),
  },
  relationships: { device },
});
