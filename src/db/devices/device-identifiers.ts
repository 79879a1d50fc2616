import type { Knex } from 'knex';

/** "devi" in ASCII: the advisory locks of identifiers that are being given to a new device. */
const IDENTIFIER_LOCKS = 0x64_65_76_69;

/** An index serves each: serial numbers are looked up as written, in capitals and in small letters. */
const CONDITIONS: Record<string, string> = {
  udid: 'lower(udid) = lower(?)',
  enrollment_id: 'lower(enrollment_id) = lower(?)',
  serial_number: 'serial_number in (?, upper(?), lower(?))',
};

interface Owner {
  id: number;
  name: string;
}

/**
 * The devices that have one of these identifiers, one for each identifier. Until the transaction
 * ends, others who ask for the same wait: no unique index keeps serial numbers apart, since clones of
 * a virtual Mac share theirs.
 */
export async function findIdentifierOwners(
  trx: Knex.Transaction,
  identifiers: [name: string, value: string][],
): Promise<Owner[]> {
  await trx.raw(LOCK, [IDENTIFIER_LOCKS, identifiers.map(([, value]) => value)]);
  const owners: Owner[] = [];
  for (const [name, value] of identifiers) {
    const condition = CONDITIONS[name];
    if (condition === undefined) throw new Error(`devices are not known by ${name}`);
    const values = condition
      .split('?')
      .slice(1)
      .map(() => value);
    const found = await trx('devices').whereRaw(condition, values).orderBy('id').first('id');
    if (found !== undefined) owners.push({ id: Number(found.id), name });
  }
  return owners;
}

// In the order of the keys, so that two that share several don't deadlock.
const LOCK = `
select pg_advisory_xact_lock(?::integer, key)
from (select distinct hashtext(lower(value)) as key from unnest(?::text[]) as value order by 1) keys`;
