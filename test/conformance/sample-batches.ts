import type { Knex } from 'knex';

/** One of each state; the table of batches is a view, and creating one is an action. */
export async function seedBatches(knex: Knex): Promise<void> {
  const { id: profile_id } = await knex('profiles').orderBy('id').first('id');
  const [tag, device, group] = await Promise.all(
    ['tags', 'devices', 'device_groups'].map((table) => knex(table).orderBy('id').first('id')),
  );
  const states = ['expanding', 'running', 'finished', 'cancelled', 'finished'];
  let former: number | null = null;
  for (const [index, state] of states.entries()) {
    const isEmpty = index === 2;
    const hasEnded = state === 'finished' || state === 'cancelled';
    const [row]: { id: number }[] = await knex('command_batches').insert(
      {
        name: isEmpty ? null : `name 10%_${index}`,
        request_type: `request_type 10%_${index}`,
        parameters: Buffer.from(JSON.stringify({ Message: `message ${index}` })),
        profile_id: isEmpty ? null : profile_id,
        priority: isEmpty ? null : index,
        ttl: isEmpty ? null : index + 1,
        after: isEmpty ? null : new Date(index * 60_000),
        expires_at: isEmpty ? null : new Date(index * 120_000),
        spread: index,
        filter: isEmpty ? null : JSON.stringify([{ name: 'id', op: 'eq', val: index }]),
        retry_of_id: isEmpty ? null : former,
        state,
        matched: index + 10,
        eligible: index,
        acknowledged: index,
        created_by: `created_by 10%_${index}`,
        created_at: new Date(index * 1_000),
        expanded_at: state === 'expanding' ? null : new Date(index * 2_000),
        finished_at: hasEnded ? new Date(index * 3_000) : null,
      },
      'id',
    );
    former = row?.id ?? null;
    const link = { command_batch_id: former };
    await knex('command_batch_tags').insert({ ...link, tag_id: tag.id });
    await knex('command_batch_devices').insert({ ...link, device_id: device.id });
    await knex('command_batch_device_groups').insert({ ...link, device_group_id: group.id });
  }
}
