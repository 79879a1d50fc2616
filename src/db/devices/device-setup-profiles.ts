import type { Knex } from 'knex';

/** A profile that was assigned to a device when its setup began. */
export interface SetupProfile {
  profileId: number;
  /** InstallProfile; null when there was none. */
  commandId: number | null;
  /** Held back from a device that proved nothing, or not to be built any more. */
  fault: 'withheld' | 'unbuilt' | null;
}

/** Notes the profiles of a setup that has just begun, or begun anew. */
export async function replaceSetupProfiles(
  trx: Knex.Transaction,
  device_setup_id: number,
  profiles: SetupProfile[],
): Promise<void> {
  await trx('device_setup_profiles').where({ device_setup_id }).delete();
  if (profiles.length === 0) return;
  await trx('device_setup_profiles').insert(
    profiles.map(({ profileId: profile_id, commandId: command_id, fault }) => {
      return { device_setup_id, profile_id, command_id, fault };
    }),
  );
}

/** A profile that a setup has not installed, for good. */
export interface SetupFault {
  profile_id: number;
  /** As people know it. */
  profile: string;
  fault: SetupProfile['fault'];
  command_id: number | null;
  status: string | null;
  command_reason: string | null;
  error_chain: { LocalizedDescription?: unknown }[] | null;
}

const FAULTS = `
select s.profile_id, coalesce(p.display_name, p.identifier) as profile, s.fault, c.id as command_id,
  c.status, c.reason as command_reason, c.error_chain
from device_setup_profiles s
join profiles p on p.id = s.profile_id
left join commands c on c.id = s.command_id
where s.device_setup_id = ?
  and (c.id is null or not c.is_pending and c.status <> 'Acknowledged')
order by s.profile_id`;

/** What the device has not got of the profiles of its setup; what it may still get is none of it. */
export async function findSetupFaults(trx: Knex.Transaction, id: number): Promise<SetupFault[]> {
  const { rows } = await trx.raw<{ rows: SetupFault[] }>(FAULTS, [id]);
  return rows;
}
