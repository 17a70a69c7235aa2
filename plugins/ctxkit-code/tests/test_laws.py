"""The promises of every strategy, each a named test."""

import pytest
from ctxkit_code import OutlineFileViews

from ctxkit.testing import STRATEGY_LAWS, Law


@pytest.mark.parametrize("law", STRATEGY_LAWS, ids=lambda law: law.__name__)
def test_laws(law: Law) -> None:
    law(OutlineFileViews())
