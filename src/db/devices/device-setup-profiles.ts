import type { Knex } from 'knex';

/** A profile that was assigned to a device when its setup began. */
export interface SetupProfile {
  profileId: number;
  /** InstallProfile; null when there was none. */
  commandId: number | null;
  /** Withheld from a device without proof, or no longer buildable. */
  fault: 'withheld' | 'unbuilt' | null;
}

const STORE = `
insert into device_setup_profiles (device_setup_id, profile_id, command_id, fault)
select s.id, i.profile_id, i.command_id,
  case i.reason_code when 'serial_not_proved' then 'withheld' when 'unbuilt' then 'unbuilt' end
from device_setups s
join device_items i on i.device_id = s.device_id and i.enrollment_number = s.enrollment_number
join profiles p on p.id = i.profile_id
where s.id = :setup and i.state not in ('removing', 'waiting_for_user') and i.device_user_id is null
  and i.reason_code is distinct from 'waiting_for_item'
order by i.profile_id
returning profile_id as "profileId", command_id as "commandId", fault`;

/**
 * Stores the profiles of a setup that has just begun or restarted: the items of its device, without those
 * that come later: for users, or after others.
 */
export async function storeSetupProfiles(
  trx: Knex.Transaction,
  setup: number,
): Promise<SetupProfile[]> {
  await trx('device_setup_profiles').where({ device_setup_id: setup }).delete();
  const { rows } = await trx.raw<{ rows: SetupProfile[] }>(STORE, { setup });
  return rows;
}

/** A profile that the setup finally failed to install. */
export interface SetupFault {
  profile_id: number;
  /** Its display name, or else its identifier. */
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

/** The setup's profiles that were not installed and are no longer pending. */
export async function findSetupFaults(trx: Knex.Transaction, id: number): Promise<SetupFault[]> {
  const { rows } = await trx.raw<{ rows: SetupFault[] }>(FAULTS, [id]);
  return rows;
}
