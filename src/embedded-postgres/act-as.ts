/** Whose powers are used; null = Muster's own. */
export type Identity = { uid: number; gid: number } | null;

function become({ uid, gid }: NonNullable<Identity>): () => void {
  const groups = process.getgroups?.() ?? [];
  const formerGroup = process.getegid?.() ?? 0;
  const restore = () => {
    process.seteuid?.(0);
    process.setegid?.(formerGroup);
    process.setgroups?.(groups);
  };
  try {
    process.setgroups?.([gid]);
    process.setegid?.(gid);
    process.seteuid?.(uid);
  } catch (error) {
    restore();
    throw error;
  }
  return restore;
}

/**
 * Does `work` with the powers of `identity` alone when Muster is root. Inside a directory that another
 * account can write to, any name may lead anywhere, at any moment: root therefore touches nothing
 * there, and a link yields its maker only what the maker could do anyway.
 *
 * `work` is synchronous, since the effective user belongs to the whole process, and starts no
 * process: its child would keep the way back to root.
 */
export function actAs<T>(identity: Identity, work: () => T): T {
  if (identity === null || identity.uid === 0 || process.geteuid?.() !== 0) return work();
  const restore = become(identity);
  try {
    return work();
  } finally {
    restore();
  }
}
