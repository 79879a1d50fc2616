import type { Knex } from 'knex';

/** Items of the device, one of a profile that is deleted; the API never creates any. */
export async function seedDeviceItems(knex: Knex, device_id: number): Promise<void> {
  const profiles: { id: number; identifier: string }[] = await knex('profiles')
    .orderBy('id')
    .limit(4)
    .select('id', 'identifier');
  const gone = { id: 1_000_000, identifier: 'of the deleted' };
  for (const [index, { id, identifier }] of [...profiles, gone].entries()) {
    await knex('device_items').insert({
      device_id,
      item_key: `profile:${identifier.toLowerCase()}`,
      identifier,
      profile_id: id,
      version: index + 1,
      enrollment_number: 1,
      state: ['failed', 'pending', 'verified', 'paused', 'removing'][index],
      reason_code: `code-${index}`,
      reason: `reason ${index}`,
      payload_uuid: `uuid-${index}`,
      priority: index,
      attempts: index,
      next_attempt_at: new Date(index * 1000),
      repairs: index,
    });
  }
}

/** One assignment to everyone, and others to each kind of target. */
export async function seedAssignments(knex: Knex): Promise<void> {
  const first = (table: string) => knex(table).orderBy('id').first('id');
  const [profile, tag, group, device] = await Promise.all(
    ['profiles', 'tags', 'device_groups', 'devices'].map(first),
  );
  const profile_id = profile.id;
  await knex('assignments').insert([
    { profile_id, all_devices: true, priority: 1 },
    { profile_id, tag_id: tag.id, priority: 2 },
    { profile_id, device_group_id: group.id, mode: 'exclude' },
    { profile_id, device_id: device.id },
    { profile_id, device_id: device.id, mode: 'exclude' },
  ]);
}

/** One that runs, one that has halted, and others that have ended. */
export async function seedRollouts(knex: Knex): Promise<void> {
  const [one, other] = await knex('profiles').orderBy('id').limit(2).select('id');
  const { id: first_tag_id } = await knex('tags').orderBy('id').first('id');
  const states = ['running', 'halted', 'rolled_back', 'finished', 'finished'];
  for (const [index, state] of states.entries()) {
    const stages = [
      { percent: index + 0.5, soak_minutes: index },
      { percent: 100, soak_minutes: 0 },
    ];
    const isEnded = index > 1;
    await knex('rollouts').insert({
      profile_id: index === 1 ? other.id : one.id,
      version: index + 2,
      former_version: index + 1,
      first_tag_id: index % 2 === 0 ? first_tag_id : null,
      stages: JSON.stringify(stages),
      halt_at: JSON.stringify({ failures: index + 1, percent: null }),
      state,
      reason: state === 'running' ? null : `reason ${index}`,
      stage: isEnded ? 2 : 1,
      stage_started_at: new Date(index * 60_000),
      devices: index + 10,
      verified: index + 5,
      failed: index,
      ended_at: isEnded ? new Date(index * 1_000) : null,
    });
  }
}
