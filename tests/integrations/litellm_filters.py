"""What LiteLLM does itself: deprecated calls, and sockets and tasks that it leaves to the end of the process."""

import pytest

LITELLM_FILTERS = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:Items? .* using the `ReadOnly`:UserWarning"),
    pytest.mark.filterwarnings("ignore:The 'alias' attribute"),
]
