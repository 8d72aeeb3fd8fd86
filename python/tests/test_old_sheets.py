"""Workbooks of old kinds, for which no library on hand writes files: one small sheet each, made once with xlwt and pyxlsbwriter."""

from __future__ import annotations

import base64
import datetime
import lzma
import zipfile
from pathlib import Path

import pytest

from easeml.trainer.readers import Options, open_source
from folders import feed
from tables import NAMES, PLANTS

ROWS = {"Height": [12.5, None, -3.25], "leaves": [7, 90, 1], "color": ["red", "gr\u00fcn", None],
        "seen": [datetime.date(2024, 2, 29), datetime.date(1999, 12, 31), datetime.date(2026, 11, 29)], "wild": [True, False, True], "kind": ["oak", "elm", "oak"]}

XLS = (
    'T>t<81poj4|NsC0{{Uz+z8r=ycVP6SgepJ`9Cjyy@{xwzh{`9r;h?w11QTbQ&6v4qH5DqE;RDmf=*-ddOF!ADBJp6^u*dE%)j~d{qlzMTfmIQ38#MY4`=iQc0LNj?E2yB6I4}u}%N>gz'
    '-_b`H4Rqu1*e8#bC}XCrObY5-I-IZ7@B>D*#y4PEm=sEa$Cs90zi58uIB=>B5BWQ{9?2A^he@pPr}6mETlgIeMr4s0Wed4hY@jAdIEh^HEv}#Z_i%UxbDb4_xpaP(HF~~*y@RjggPplH'
    'QQL3^tq8GN_IY!O`D>Y9GilHmF=gpiXA*1$G<9>O<!O|ss@~(63IB{Ol-iAEt+0>>rp-_~rK9Da5lAS@2*7qETCCB}*|UDZO{+-!M-r|s#7LO%vGwhhOH%8@Y}}2rfMTSsLUY<m1n<|y'
    '6_QcEc{MvZJ@?#IVEhCk&idejN)bKDj5Y;?Z<dV!02yRWPu`{2d`*&_Ih$#~JEjO)CD+5>sM<J9hUOZ@CT&GiAIB>mLdY!~FqF!zjx!0*vb9E?TQw;0jPNE4#nKSB6}7X!SyTPbq}+u7'
    '(R|ZK)34B$VpQfvg7?LrYI?gCg8KmY9Sw^-evIotVr#Z6?f1OatY-!pbf0Bb8slu61e??V6B>xdHxS7~?Z(9C-F)s=xLF?KgMIt66bHMVc#)o3PEx&XfYnL9dk(sm-KF}&lCZO>gwbJg'
    '*dy3-E7A)}Ot$(15&{RqJn%70Fv8VZ*b<(osv#z1U=(|cXoV;zHA21nX`wG12V9$v-CsVW@x$r&b_faDLkj6x7>VxL{WXfNIvAuaCu_JoH-e{S3kUE>aR2J?cFjU@c;%0nPejEKy*wVY'
    'xesN6BI={|RD8s{Nn!#6y>D-C{-&b*')

XLSB = (
    'T>t<81poj4|NsC0{{R36w)+an4@Y6Ly$XL(yolQ$3XhyQUa;Tpl&J_!;<_#35I5L(rU0C0c#_bHzKO~R5?Tri26jRyeyK#BNs9<kVtmNUacmSI9C=h`#&UBuv;m~U>Zgz7x7hM}Ifv7?'
    '0vFo0dlWUu^n}i%IPoX0dyF6^c(-MgPY>=a><xkPYevwAVO8QCs25mS%u|AiUki97WnWir&`1~#(1Pt_)4)*j_Tzrd=T~#c7xY2-svRYAph`JTVF@17OdXX0E@a&Hlpn8@6+kM4-&{16'
    'Ut}a15ayNsQ_%38=)TBR*Oxymzk?%~RanA#zA;beNE*61u>O1?%}fC7V5C?tAjAcFZVXdCeS{4x_;$1dY=t;xjd<mS+gC5h(V^n`an(u5i)t%Db$9o)mzKI%$Q8SF2jf>?CE~#g9rV=g'
    'Erek3N%zTxenry_EU8R&Z8pHW=6lFu1^?kU#<pP;-!^ZJFc(R@Fl4u4fUpvB&h>*`jX<Eq(QPF-MIyI~T>~BQF}EDyuzLZ7ifjIOH~f3<cMq`M;)cJlZvTKq=b^**|7zR;hM=Uf`%W=@'
    'm3OF)t-8RUVawt?cc;C$bQP}aeZ7;u-lqBM@>$~tVAa6)?2eipd*3zqX#;<~@r$XvFQACzOVD^kFZdVFS7Xz+xUfF}Z(%m`MWjEbsE_mqw|XSqBy}I@DyN-vPIy72-)`d8+yAfsMT?fE'
    'p+psJ4D+vQi0HzsSvsAMmiQ^;(vcI&aT?w(p#Y4$w$1&<bU7|atPE4UAGw|2h(EuTIh4F|Cb@ylK@wEqO8@B7rsP1?#dvkR5wYmTN%r|V*z3QJ7^gP4`edowFt5kUY$VM!XG8ZIq4L__'
    'N+w?*tG~C{t8%_$ew@AD2C{8+fw7Yj6tR$qtw)f|{jLlgG;IcPQ(h@l``zy33=EC%B?Gi7r03*E$g`150Wfl9mvaA-RF=#%{&$QARh|NIANDSnoc+LHn|KvZc0p%5ivAzoMp<j=)+X_m'
    '>LT{d>)&1pw*q(fnmo&rH(e_^x}P#LZFX(<mx4s+b+z(4@~^*Iq+g?uDia;ht*BG4c_ZZkHkxDyLB*#Hp)|K937f*|!<q@qE~b=lC(ofP!tArUt=KnS^Jv2NEg<~4+~CXzrf>q%(Xb)L'
    'BZ|44ewo+aYSfkNe{Fz2;p-2(>^9Bv%VDT>l|fX-j#aSwX(rauA#rnxb$xfBLx00<!C(l8A!YMDZ&aaXk-)Lm6Xc>%J_qUONuzi&Qzl5@g^_D?Ki^{_>|m-N%HO0jWME)WO&=omm-*(t'
    'nopi|qQjxvQ;0T2N?3TKIWJjMeorC~0<QyTJxZg3vRqSc#2GF)FkQL<iDsNgW-SJ@WO*ZfvQYS@;tgQ{CYf!*;PCB;yc65f$d3-=nuKDT+4GvU+XK?%$yEQa0n6XM;21*At2Y)jrESW@'
    'SjQb_coJMb!H7U%;g+5l&9S(dv>F11Z|NAraeM2*_bC&qb>`m=%yQ_Q5~PoJ`}ohW&=>O0iY9*nc)gq5<-@01Z&0MR27=#VWq)bQeidi81&1j151_yVBtYp}{cC>wYr0RJ2K-%$^^_Xp'
    'e3Xi2nTfpC3kCZcY#o=bbhIxJ2Ik>LmtI#O(hhm(ctyAu_<_imlvLyDBCO>xOIq<EBMq_%6)5_TOYpeQ9<vso?7m!)>dpX(RoqR1$i_(}?AH@yj%_A>6Prl@mBhk)23vY6ikzwDAVjuU'
    'VncU6&0{4}gvRFsJX&=yW){#a&K{ld3~~j+Zq+HWXZQ6wf^q9(2y|%+bJ2pfJmwt9s363B8bIw?mCk#PRoZ9G<>?RRlb4d`M0~Nq91KwSbuOzMFp$cW|FMp2UloK8z4D~*x=%h(53i6G'
    'Hf%x4bc2xaxe>LR*Z;~~<z9@O<si*krNpxW9(dH#zG_=FP1)^)B;c<3lnd-KIpist%(*YSdjySNU*E1jWdHE<g2n')


def unpacked(text: str) -> bytes:
    return lzma.decompress(base64.b85decode(text))


def write(path: Path) -> Path:
    """The sheet; the parts of an .xlsb lie behind each other, each with its name."""
    content = unpacked(XLS if path.suffix == ".xls" else XLSB)
    if path.suffix == ".xls":
        path.write_bytes(content)
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        while content:
            name, content = content[2:2 + (n := int.from_bytes(content[:2], "big"))].decode(), content[2 + n:]
            part, content = content[4:4 + (n := int.from_bytes(content[:4], "big"))], content[4 + n:]
            z.writestr(name, part)
    return path


@pytest.mark.parametrize("ending", ["xls", "xlsb"])
def test_old_sheets(tmp_path, ending):
    path = write(tmp_path / f"plants.{ending}")
    source = open_source(path.name, path, Options({}))
    (block,) = source.blocks()
    assert source.names == NAMES and block.columns == ROWS and list(block.rows) == [2, 3, 4]
    fed = feed(tmp_path / "fed", PLANTS, path)
    assert fed.profile["examples"] == {"read": 3, "accepted": 2, "known": 0, "rejected": 1}
    assert [(r["row"], r["column"], r["value"]) for r in fed.rejects] == [(3, "color", "gr\u00fcn")]
