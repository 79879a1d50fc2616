import type { Database } from '../../db/connection/database.js';
import { inTransaction, type Transaction } from '../../db/connection/unit-of-work.js';
import {
  deleteLinks,
  type EnrollmentLinkRow,
  lockLinks,
  setLinkDisabled,
} from '../../db/enroll/enrollment-link-repository.js';
import { AppError } from '../../errors.js';
import { type Changes, deletedWith } from '../../events/audit.js';
import { auditCli } from '../audit-cli.js';
import type { WriteLine } from '../table.js';

interface Change {
  apply(trx: Transaction, ids: number[]): Promise<void>;
  action: 'enrollment_links.update' | 'enrollment_links.delete';
  /** What the change does to the link as it was, for the audit event. */
  changesOf(link: EnrollmentLinkRow): Changes;
  description: string;
  /** Printed before each link. */
  done: string;
}

const switched = (is_disabled: boolean) => ({
  apply: (trx: Transaction, ids: number[]) => setLinkDisabled(trx, ids, is_disabled),
  action: 'enrollment_links.update' as const,
  changesOf: (link: EnrollmentLinkRow): Changes =>
    link.is_disabled === is_disabled ? {} : { is_disabled: [link.is_disabled, is_disabled] },
});

/** By the name of the command. */
export const LINK_CHANGES = {
  disable: {
    ...switched(true),
    description: 'refuse enrollments by a link until it is enabled again',
    done: 'disabled',
  },
  enable: { ...switched(false), description: 'allow enrollments by a link again', done: 'enabled' },
  delete: {
    apply: deleteLinks,
    action: 'enrollment_links.delete',
    changesOf: ({ id: _id, ...values }: EnrollmentLinkRow) => deletedWith(values),
    description: 'delete a link; devices that enrolled by it stay',
    done: 'deleted',
  },
} satisfies Record<string, Change>;

export type LinkChange = keyof typeof LINK_CHANGES;

/** `link` is an id, or a name: then it is every link of that name. */
export async function changeLinks(
  { db }: { db: Database },
  { link, change }: { link: string; change: LinkChange },
  write: WriteLine,
): Promise<void> {
  const isId = /^\d{1,15}$/.test(link);
  const selector = isId ? { id: Number(link) } : { name: link };
  const applied: Change = LINK_CHANGES[change];
  const changed = await inTransaction(db, async (trx) => {
    const links = await lockLinks(trx, selector);
    if (links.length === 0) throw new AppError('not_found', 404, `there is no link ${link}`);
    await applied.apply(
      trx,
      links.map(({ id }) => id),
    );
    for (const one of links) await audit(trx, one, applied);
    return links;
  });
  for (const { id, name } of changed) write(`${applied.done} ${id} ${name}`);
}

async function audit(trx: Transaction, link: EnrollmentLinkRow, { action, changesOf }: Change) {
  const values = { changes: changesOf(link), details: { name: link.name } };
  await auditCli(trx, { action, target: ['enrollment_links', link.id], values });
}
