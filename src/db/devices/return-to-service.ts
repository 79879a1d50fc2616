import type { Knex } from 'knex';
import { type Database, runStatement } from '../connection/database.js';
import { IS_OWN, newest } from './device-secrets.js';

export interface ReturnToServiceSettings {
  enabled: boolean;
  /** EraseDevice without ReturnToService gets these settings, too. */
  applies_to_erase: boolean;
  /** Base64 of the profile, sealed under `returnToServiceLabel`. */
  sealed_wifi_profile: Buffer | null;
  sealed_mdm_profile: Buffer | null;
  send_bootstrap_token: boolean;
  should_retry_enrollment: boolean;
  preserve_data_plan: boolean;
}

export function returnToServiceLabel(name: 'wifi_profile' | 'mdm_profile'): string {
  return `return_to_service_settings/${name}`;
}

/** The settings; undefined before they are written for the first time. */
export function findReturnToService(trx: Knex): Promise<ReturnToServiceSettings | undefined> {
  return trx('return_to_service_settings').first<ReturnToServiceSettings | undefined>();
}

export interface ReturningDevice extends ReturnToServiceSettings {
  platform: string | null;
  os_version: string | null;
  /** Supervised, and enrolled by Automated Device Enrollment. */
  is_entitled: boolean;
  /** From this enrollment, or from an earlier one of the same device. */
  sealed_bootstrap_token: Buffer | null;
}

const FIND_RETURNING = {
  name: 'find_returning_device',
  text: `
with caller as (
  select d.id, d.platform, d.os_version, d.is_supervised is not false
    and (d.enrollment_method is not distinct from 'automated' or d.enrolled_via_dep is true)
    and d.enrollment_type is distinct from 'user' and d.platform in ('iOS', 'visionOS') is not false as is_entitled
  from devices d where d.id = $1 and ${IS_OWN('$2')}
), found as (
  select c.platform, c.os_version, c.is_entitled, c.id,
    coalesce(s.enabled, false) as enabled, coalesce(s.applies_to_erase, false) as applies_to_erase,
    s.sealed_wifi_profile, s.sealed_mdm_profile,
    coalesce(s.should_retry_enrollment, false) as should_retry_enrollment,
    coalesce(s.preserve_data_plan, false) as preserve_data_plan,
    coalesce(s.send_bootstrap_token, false) as send_bootstrap_token,
    case when s.send_bootstrap_token then b.sealed end as sealed_bootstrap_token
  from caller c left join return_to_service_settings s on true
  left join (${newest({ device: '$1', kind: "'bootstrap_token'" })}) b on octet_length(b.sealed) > 0
), audited as (
  insert into audit_events (actor, role, action, target_type, target_id, request_id, details)
  select 'device', 'device', 'devices.return_to_service', 'devices', cast(id as text),
    cast(gen_random_uuid() as text), jsonb_build_object('enabled', enabled,
      'wifi_profile', enabled and sealed_wifi_profile is not null,
      'mdm_profile', enabled and sealed_mdm_profile is not null,
      'bootstrap_token', enabled and sealed_bootstrap_token is not null)
  from found where is_entitled
)
select * from found`,
};

/**
 * What a device that asks to return to service may get. One statement; audited when the device is
 * entitled to it. Undefined when the certificate is no longer the device's own.
 */
export async function findReturningDevice(
  db: Database,
  { deviceId, fingerprint }: { deviceId: number; fingerprint: Buffer },
): Promise<ReturningDevice | undefined> {
  const { rows } = await runStatement<ReturningDevice>(db, FIND_RETURNING, [deviceId, fingerprint]);
  return rows[0];
}
