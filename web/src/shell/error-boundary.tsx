import { Component, type ReactNode } from 'react';
import { text } from '../text/en.js';
import { Notice } from '../ui/notice.js';

export class ErrorBoundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <Notice kind="error" lines={[text.broken, error.message]}>
        <button type="button" onClick={() => location.reload()}>
          {text.reload}
        </button>
      </Notice>
    );
  }
}
